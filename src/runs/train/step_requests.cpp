#include "nadi/train/step_requests.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/units.h"
#include "nadi/devices/make_engine.h"
#include "nadi/engine/engine_memory.h"
#include "nadi/parallel/step_check.h"

namespace nadi::inline runs {

StepRequest training_request(const TrainOptions& options, std::int64_t micro_batches) {
  return {.kind = StepKind::kTrain,
          .batch_size = options.batch_size * micro_batches,
          .seq_length = options.seq_length,
          .dtype = options.dtype,
          .fused_attention = options.fused_attention,
          .experts = options.experts,
          .recompute = options.recompute,
          .optimizer = options.optimizer,
          .keeps_gradients = options.batches.has_value() && !options.batches->is_constant(),
          .layout = {.bucket_elements = options.bucket_elements}};
}

StepRequest evaluation_request(const TrainOptions& options) {
  return {.kind = StepKind::kEvaluate,
          .batch_size = options.batch_size,
          .seq_length = options.seq_length,
          .dtype = options.dtype,
          .fused_attention = options.fused_attention,
          .experts = options.experts};
}

Plan with_micro_batches(Plan plan, std::int64_t micro_batches) {
  plan.micro_batches = micro_batches;
  return plan;
}

BatchSchedule batch_schedule_of(const TrainOptions& options) {
  if (options.batches) return *options.batches;
  return BatchSchedule::constant(options.batch_size * options.accumulation * options.plan.dp);
}

void check_batch_schedule(const TrainOptions& options, const BatchSchedule& batches) {
  if (batches.is_constant()) return;
  const std::int64_t dp = options.plan.dp;
  const std::int64_t least = options.batch_size * dp;
  check(batches.largest() == least * options.accumulation, "accumulation is that of the largest step");
  for (const BatchSchedule::Phase& phase : batches.phases()) {
    if (phase.size % least != 0)
      throw usage_error(
          format("a batch of {} samples, from step {} on, does not divide into micro-batches of {} on {} "
                 "data-parallel rank{}",
                 phase.size, phase.first_step, options.batch_size, dp, dp == 1 ? "" : "s"),
          format("every size of the batch is a multiple of {} x {}", options.batch_size, dp));
    const std::int64_t micro_batches = phase.size / least;
    check_plan(options.config, training_request(options, micro_batches),
               with_micro_batches(options.plan, micro_batches));
  }
}

std::int64_t global_batch_of(const TrainOptions& options) {
  return checked_multiply(checked_multiply(options.batch_size, options.accumulation, "samples"),
                          options.plan.dp, "samples");
}

namespace {

Program largest_step(const TrainOptions& options, Rank rank) {
  const Plan plan = with_micro_batches(options.plan, options.accumulation);
  return build_step(options.config, training_request(options, options.accumulation), plan,
                    coordinates_of(plan, rank).pp);
}

}  // namespace

MemorySummary predicted_memory(const TrainOptions& options, Rank rank) {
  return summarize(largest_step(options, rank)).memory;
}

EngineMemory predicted_engine_memory(const TrainOptions& options, Rank rank) {
  const Program program = largest_step(options, rank);
  return engine_memory(
      program, plan_kernels(options.device, program, {.threads = options.threads, .math = options.math}));
}

}  // namespace nadi::inline runs
