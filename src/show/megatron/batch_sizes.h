// Megatron's flags for global batch sizes that change during a run.
#pragma once

#include <cstdint>

#include "nadi/train/batch_schedule.h"

namespace nadi::inline show {

class Flags;

// Whether any of these flags is given.
bool has_changing_batches(const Flags& flags);

// The sizes of each step. `dp` is the number of data-parallel ranks; `seq_length` turns counts of tokens into
// samples. Error (usage) with the numbers when a size does not divide into micro-batches, or flags contradict
// each other.
struct ChangingBatches {
  std::int64_t micro_batch = 1;
  BatchSchedule schedule;
};
ChangingBatches changing_batches(const Flags& flags, std::int64_t dp, std::int64_t seq_length);

}  // namespace nadi::inline show
