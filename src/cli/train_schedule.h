// How many steps a run has and what its learning rate and weight decay do meanwhile, in Nadi's flags or
// Megatron's.
#pragma once

#include <cstdint>
#include <optional>

#include "nadi/train/batch_schedule.h"
#include "nadi/train/learning_rate.h"

namespace nadi {

class Flags;

struct TrainSchedule {
  std::int64_t max_steps = 0;  // 0: as the epochs have it
  LearningRate learning_rate = {};
  std::optional<WeightDecaySchedule> weight_decay = {};  // where it changes
};

// With Megatron's flags all lengths are in samples, as Megatron counts: a number of iterations is as many of
// the largest batch. Error (usage) for lengths that contradict each other.
TrainSchedule resolve_schedule(const Flags& flags, const BatchSchedule& batches);

}  // namespace nadi
