// Where a run continues from, and what it leaves: checkpoints and traces.
#pragma once

#include <string>
#include <vector>

#include "nadi/train/trainer.h"

namespace nadi::inline show {

class Flags;

// Fills in save_dir, init_from, resume_from and what goes with them. `model` may be a folder with weights.
// Error (usage) where checkpoints of another run would be overwritten unasked.
void resolve_checkpoints(const Flags& flags, const std::string& model, TrainOptions& options,
                         std::vector<std::string>& notes);

// Fills in `trace`, from Nadi's flags or from --profile, or `profiler_range` where --profile is for a
// profiler from outside: on a GPU, without --use-pytorch-profiler. All other options have been decided.
void resolve_traces(const Flags& flags, const std::string& model, TrainOptions& options,
                    std::vector<std::string>& notes);

}  // namespace nadi::inline show
