#include "nadi/train/run_preview.h"

#include <algorithm>
#include <memory>

#include "nadi/base/format.h"
#include "nadi/checkpoint/training_state.h"
#include "nadi/checkpoint/whole_model.h"
#include "nadi/data/batch_source.h"
#include "nadi/engine/engine_memory.h"
#include "nadi/parallel/step_check.h"
#include "nadi/parallel/step_program.h"
#include "nadi/run/run_recorder.h"
#include "nadi/train/megatron_run.h"
#include "nadi/train/step_requests.h"

namespace nadi::inline runs {
namespace {

std::int64_t steps_done(const TrainOptions& options) {
  if (options.resume_from.empty()) return 0;
  if (const std::unique_ptr<WholeModel> megatron = open_if_megatron(options.resume_from, options.verify))
    return megatron->progress() ? megatron->progress()->iteration : 0;
  return read_training_state(options.resume_from).step;
}

std::vector<StagePreview> stages_of(const TrainOptions& options) {
  std::vector<StagePreview> stages;
  for (std::int64_t stage = 0; stage < options.plan.pp; ++stage) {
    StagePreview preview{.stage = stage};
    for (std::int64_t number = 0; number < options.plan.world_size(); ++number) {
      const Rank rank{static_cast<std::int32_t>(number)};
      if (coordinates_of(options.plan, rank).pp == stage) preview.ranks.push_back(rank);
    }
    preview.memory = predicted_memory(options, preview.ranks.front());
    preview.total = options.device == DeviceKind::kCuda
                        ? predicted_engine_memory(options, preview.ranks.front()).total()
                        : preview.memory.total();
    stages.push_back(std::move(preview));
  }
  return stages;
}

// The model on one rank: what a checkpoint has, however the run splits it.
ProgramSummary whole_model(const TrainOptions& options) {
  StepRequest request = training_request(options, 1);
  return summarize(build_step(options.config, request, Plan{}, 0));
}

// How often save() is called: every save_steps or at the end of every epoch, and at the end.
std::int64_t saves(const TrainOptions& options, const BatchSchedule& batches, const BatchSource& data,
                   std::int64_t first, std::int64_t total) {
  if (first >= total) return 0;
  if (options.save_steps > 0)
    return total / options.save_steps - first / options.save_steps +
           (total % options.save_steps != 0 ? 1 : 0);
  const auto before = batches.position_after(first, data.samples());
  const auto end = batches.position_after(total, data.samples());
  return end.epoch - before.epoch + (end.step_in_epoch != 0 ? 1 : 0);
}

void add_checkpoints(const TrainOptions& options, const BatchSource& data, const ProgramSummary& whole,
                     RunPreview& preview) {
  if (options.save_dir.empty()) return;
  const Bytes weights = whole.memory.of(Role::kParameter);
  const Bytes optimizer = options.save_optimizer ? whole.memory.of(Role::kOptimizerState) : Bytes{};
  const std::int64_t count =
      saves(options, batch_schedule_of(options), data, preview.first_step, preview.total_steps);
  const bool ours = options.save_form == SaveForm::kNadi;
  if (count > 0)
    preview.files.push_back(
        {.path = options.save_dir / (ours ? "checkpoint-<step>" : "iter_<step>"),
         .what = "checkpoint",
         .count = count,
         .kept = options.save_total_limit > 0 ? std::min(count, options.save_total_limit) : count,
         .size_each = weights + optimizer});
  if (options.evaluate && count > 0)
    preview.files.push_back(
        {.path = options.save_dir / "best_model", .what = "best model", .size_each = weights});
}

void add_traces(const TrainOptions& options, RunPreview& preview) {
  if (!options.trace) return;
  const RecorderOptions& trace = *options.trace;
  const std::int64_t ranks = options.plan.world_size();
  const auto add = [&](const std::filesystem::path& path, std::string what) {
    if (!path.empty()) preview.files.push_back({.path = path, .what = std::move(what)});
  };
  for (std::int64_t number = 0; number < ranks; ++number) {
    if (!trace.recorded_ranks.empty() && !trace.recorded_ranks.contains(number)) continue;
    const RunTraceFiles files =
        run_trace_files(trace.folder, trace.name, Rank{static_cast<std::int32_t>(number)}, ranks);
    add(files.chakra, "trace (Chakra)");
    add(files.kineto, "trace (Kineto)");
    add(files.stacks, "table of times");
    add(files.groups, "groups of ranks");
    add(files.first_chakra, "trace of rank 0 (Chakra)");
  }
  if (ranks > 1) add(merged_kineto_file(trace.folder, trace.name), "trace of all ranks (Kineto)");
}

}  // namespace

RunPreview preview_run(const TrainOptions& options, const BatchSource& data) {
  const BatchSchedule batches = batch_schedule_of(options);
  check_batch_schedule(options, batches);
  if (!options.save_dir.empty()) check_savable_for_megatron(options);
  const ProgramSummary whole = whole_model(options);
  RunPreview preview{.parameters = whole.parameters, .first_step = steps_done(options)};
  preview.total_steps =
      options.max_steps > 0 ? options.max_steps : batches.steps_of_epochs(data.samples(), options.epochs);
  const std::int64_t samples = std::max<std::int64_t>(
      0, batches.samples_before(preview.total_steps + 1) - batches.samples_before(preview.first_step + 1));
  preview.tokens = checked_multiply(samples, options.seq_length, "tokens");
  preview.stages = stages_of(options);
  add_checkpoints(options, data, whole, preview);
  add_traces(options, preview);
  if (!options.tensorboard_dir.empty())
    preview.files.push_back(
        {.path = options.tensorboard_dir / "events.out.tfevents.*", .what = "events for TensorBoard"});
  return preview;
}

}  // namespace nadi::inline runs
