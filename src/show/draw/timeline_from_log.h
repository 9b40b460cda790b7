// Timelines and pipelines from the training log of Megatron-LM (megatron_log/log_reader.h).
//
//   const TrainingLog log = read_training_log("node0.out");
//   const TimelineSummary summary = timeline_from_log(view, log, selection);
//   const PipelineSummary pipeline = pipeline_from_log(view, log, {.selection = selection});
//
// Most logs have times of an iteration, not moments: the mean over the iterations since the line before, for
// each rank ("times across ranks"), or of the fastest and the slowest. So timelines show one mean iteration
// for each line of the log, one after the other, and within it the timers one after the other in the order of
// the log: forward-backward, reductions, optimizer; below forward-backward what was measured within it.
//
// A pipeline is drawn from the calls where the log lists them (log_reader.h). Else it is reconstructed: each
// stage does m forward and m backward passes of mean length (forward-compute / m, backward-compute / m) in
// the order of its schedule, 1F1B or interleaved, and messages take no time. That is marked as reconstructed;
// beside the bubble of the drawing stands what the timers measured, 1 - (forward-compute + backward-compute)
// / forward-backward.
#pragma once

#include <cstdint>
#include <optional>

#include "nadi/draw/pipeline_view.h"
#include "nadi/draw/timeline_selection.h"
#include "nadi/draw/timeline_summary.h"
#include "nadi/draw/timeline_view.h"

namespace nadi::inline files {
struct TrainingLog;
}  // namespace nadi::inline files

namespace nadi::inline show {

// `selection.steps` chooses iterations; streams do not matter. Error: input for a log without iterations,
// usage for a selection that nothing fits.
TimelineSummary timeline_from_log(TimelineView& view, const TrainingLog& log,
                                  const TimelineSelection& selection);

struct PipelineFromLogOptions {
  TimelineSelection selection = {};  // ranks and steps
  // Instead of what the log says.
  std::optional<std::int64_t> stages = {}, micro_batches = {};
};

// Error: input for a log without the times of ranks or without the sizes of the pipeline, usage for a
// selection that nothing fits and for sizes that do not go together.
PipelineSummary pipeline_from_log(TimelineView& view, const TrainingLog& log,
                                  const PipelineFromLogOptions& options);

}  // namespace nadi::inline show
