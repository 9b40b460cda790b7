// The batch sizes of a run, by Nadi's flags or by Megatron's: one size, or a schedule of sizes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nadi/train/batch_schedule.h"

namespace nadi::inline show {

class Flags;

// For each data-parallel rank: samples at a time, and micro-batches per step.
struct BatchSizes {
  std::int64_t batch_size = 1;
  std::int64_t accumulation = 1;  // of the largest step, where they change
};

struct TrainBatches {
  BatchSizes sizes;
  BatchSchedule schedule;  // samples of each step, on all ranks
};

// `seq_length` turns Megatron's counts of tokens into samples. Error (usage) with the numbers when a size
// does not divide, or flags contradict each other.
TrainBatches resolve_batches(const Flags& flags, std::int64_t dp, std::int64_t seq_length,
                             const BatchSizes& defaults, std::vector<std::string>& notes);

}  // namespace nadi::inline show
