// The summary of a step without building all of its layers: what summarize(build_step(...)) says, sooner.
//
//   const ProgramSummary summary = summarize_step(config, request, plan, stage);
//
// A training step on one rank, whose layers are alike, is built with three and with four layers: what the
// fourth adds, every further one adds. Memory is played (repeated_memory.h). Any other step is built.
#pragma once

#include <cstdint>

#include "nadi/parallel/program_summary.h"
#include "nadi/parallel/step_program.h"

namespace nadi::inline describe {

ProgramSummary summarize_step(const ModelConfig& config, const StepRequest& request, const Plan& plan,
                              std::int64_t stage);

}  // namespace nadi::inline describe
