// A pipeline as the figures of the 1F1B papers show it: for each stage boxes of forward and backward work by
// micro-batch, the bubbles between them, and lanes of their own for reductions and the optimizer.
//
//   std::vector<PipelineStage> stages;            // from a trace, a log, a simulation
//   TimelineView view;
//   const PipelineSummary summary = draw_pipeline(view, stages);
//   summary.bubble_share()
//
// Stages of one `pipeline` work on the same micro-batches; there are several where the model is replicated or
// its layers are split. The window of a step is from the first start to the last end of forward and backward
// work on any stage of the pipeline. What a stage does not work of it is its bubble: waiting for others, and
// messages that nothing hides. With p equal stages, m micro-batches and messages that take no time the share
// is (p - 1) / (m + p - 1).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/draw/timeline_view.h"

namespace nadi::inline show {

struct PipelineBox {
  bool backward = false;
  std::int32_t micro_batch = 0;
  std::uint16_t chunk = 0;
  std::int64_t step = 0;
  Nanoseconds start = {}, end = {};
};

// What lies in a lane of its own.
struct PipelineExtra {
  std::string name = {};  // "all_reduce", "optimizer"
  Nanoseconds start = {}, end = {};
  Bytes bytes = {};  // 0 means not known
};

struct PipelineStage {
  std::int64_t pipeline = 0;
  std::int64_t stage = 0;
  std::int64_t rank = 0;
  std::vector<PipelineBox> boxes = {};  // in any order
  std::vector<PipelineExtra> reductions = {};
  std::vector<PipelineExtra> optimizer = {};
  // What a log measured beside the drawing: waiting over all time of the passes.
  std::optional<double> timed_bubble_share = {};
};

struct PipelineStageSummary {
  std::int64_t pipeline = 0, stage = 0, rank = 0;
  std::int64_t forwards = 0, backwards = 0;       // boxes
  Nanoseconds forward = {}, backward = {};        // summed
  Nanoseconds window = {}, bubble = {};           // over all steps
  std::optional<double> timed_bubble_share = {};  // of the stage

  double bubble_share() const;  // of the window; 0 where there is none
};

struct PipelineSummary {
  std::vector<PipelineStageSummary> stages = {};  // by pipeline, stage, rank
  std::int64_t pipelines = 0;
  std::int64_t stage_count = 0;    // of a pipeline, the most
  std::int64_t micro_batches = 0;  // of a step, the most
  std::int64_t steps = 0;
  std::int64_t boxes = 0;
  Nanoseconds start = {}, end = {};
  bool reconstructed = false;  // boxes were placed by a schedule, not measured

  double bubble_share() const;  // of the windows of all stages
};

// Fills lanes, links and notes of lanes. Sets view.pipeline. Stages need not be in order. A stage without
// boxes is drawn empty, as one that only waits.
PipelineSummary draw_pipeline(TimelineView& view, std::vector<PipelineStage> stages);

}  // namespace nadi::inline show
