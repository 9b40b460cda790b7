// The pipeline of a run, from the traces of its ranks.
//
//   TimelineView view;
//   const PipelineSummary summary = pipeline_from_traces(view, files, options);
//
// Traces of Nadi's own runs name phase, section and micro-batch of every op (docs/traces.md). Consecutive
// forward or backward ops of one micro-batch and chunk are one box, from the first start to the last end,
// with the collectives among them (tensor parallelism); messages between stages are not part of a box, so
// that they count as bubble unless something else runs. Reductions of gradients and the optimizer have lanes
// of their own.
//
// Stage and pipeline of a rank follow from the degrees in the metadata (tp, cp, dp, pp). Where a file has
// none, as profiles do, ranks that exchange messages form a pipeline, in the order of ranks.
#pragma once

#include <filesystem>
#include <vector>

#include "nadi/analysis/run_reading.h"
#include "nadi/draw/pipeline_view.h"
#include "nadi/draw/timeline_selection.h"

namespace nadi::inline show {

struct PipelineFromTracesOptions {
  TimelineSelection selection = {};  // `streams` does not matter
  RunReadingOptions reading = {};
};

// Throws Error: input for traces without times or without micro-batches, and as timeline_from_traces() does.
PipelineSummary pipeline_from_traces(TimelineView& view, const std::vector<std::filesystem::path>& files,
                                     const PipelineFromTracesOptions& options);

}  // namespace nadi::inline show
