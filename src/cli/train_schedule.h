// How many steps a run has and what its learning rate does meanwhile, in Nadi's flags or Megatron's.
#pragma once

#include <cstdint>

#include "nadi/train/learning_rate.h"

namespace nadi {

class Flags;

struct TrainSchedule {
  std::int64_t max_steps = 0;  // 0: as the epochs have it
  LearningRate learning_rate = {};
};

// `global_batch` turns Megatron's counts of samples into steps, rounded down. Error (usage) for lengths that
// contradict each other.
TrainSchedule resolve_schedule(const Flags& flags, std::int64_t global_batch);

}  // namespace nadi
