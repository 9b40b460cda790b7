// The flags of `nadi train` as the options of a run, with all defaults. Contradictions are errors.
#pragma once

#include <cstdint>

#include "nadi/report/train_run.h"

namespace nadi::inline show {

class Flags;

// For a rank of a world of `ranks`. The vocabulary of the model is 0 where only the data can tell. Error
// (usage) with the numbers for flags that contradict each other, the model or the ranks.
ResolvedTrain resolve_train(const Flags& flags, std::int64_t ranks, Rank rank);

// Samples of all steps of a run of which max_steps are known, and as many as --train-samples has, by which Megatron
// makes index maps; 0 where neither is known.
std::int64_t samples_of(const Flags& flags, const TrainOptions& options);

}  // namespace nadi::inline show
