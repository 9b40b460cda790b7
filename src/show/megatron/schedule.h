// The length of a run, its learning rate and its weight decay, by Nadi's flags or by Megatron's.
#pragma once

#include <cstdint>
#include <optional>

#include "nadi/graph/learning_rate.h"
#include "nadi/train/batch_schedule.h"

namespace nadi::inline show {

class Flags;

struct TrainSchedule {
  std::int64_t max_steps = 0;  // 0 means the epochs decide
  LearningRate learning_rate = {};
  std::optional<WeightDecaySchedule> weight_decay = {};  // where it changes
};

// With Megatron's flags all lengths are in samples, as Megatron counts: an iteration counts as one largest
// batch. Error (usage) for lengths that contradict each other.
TrainSchedule resolve_schedule(const Flags& flags, const BatchSchedule& batches);

}  // namespace nadi::inline show
