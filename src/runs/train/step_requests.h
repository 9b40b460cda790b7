// The steps that a training run asks for: which programs are built of its options.
#pragma once

#include "nadi/parallel/program_summary.h"
#include "nadi/parallel/step_program.h"
#include "nadi/train/trainer.h"

namespace nadi::inline runs {

// A step of so many micro-batches on each data-parallel rank.
StepRequest training_request(const TrainOptions& options, std::int64_t micro_batches);
// The forward pass of one micro-batch.
StepRequest evaluation_request(const TrainOptions& options);

Plan with_micro_batches(Plan plan, std::int64_t micro_batches);

// The samples of each step, on all ranks.
BatchSchedule batch_schedule_of(const TrainOptions& options);

// Every batch size must be a whole number of micro-batches on each data-parallel rank, and the program of
// each size must be one that can be built. Error (usage) for the first that is not.
void check_batch_schedule(const TrainOptions& options, const BatchSchedule& batches);

}  // namespace nadi::inline runs
