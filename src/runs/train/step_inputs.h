// Gives a step its inputs: a batch of samples, and what changes from step to step.
#pragma once

#include <cstdint>

#include "nadi/data/batch_source.h"
#include "nadi/engine/engine.h"
#include "nadi/parallel/plan.h"

namespace nadi::inline runs {

// What one step of training reads besides its samples.
struct StepScalars {
  std::uint64_t seed = 0;
  std::int64_t step = 0;              // of the run: the key of dropout's random numbers
  std::int64_t schedule_advance = 1;  // how far the step moves the schedules, in their unit
  std::int64_t token_count = 0;       // targets that count in all micro-batches together
};

// The inputs of a program that are being filled.
struct StepInputs {
  Engine& engine;
  ProgramHandle program;
  InputSet set = InputSet::kFirst;
};

void set_step_scalars(const StepInputs& inputs, const StepScalars& scalars);

// The tokens of each sample that a context-parallel rank has: a batch of shorter samples. The batch itself
// when there is one such rank.
Batch split_over_context(Batch batch, const Plan& plan, std::int64_t place);

// One micro-batch. `first_sample` is the number of its first row in the whole batch.
void set_batch(const StepInputs& inputs, const Batch& batch, std::int64_t micro_batch);
void set_random(const StepInputs& inputs, const StepScalars& scalars, std::int64_t micro_batch,
                std::int64_t first_sample);

}  // namespace nadi::inline runs
