#include "nadi/draw/pipeline_view.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "nadi/base/format.h"

namespace nadi::inline show {
namespace {

double share_of(Nanoseconds part, Nanoseconds whole) {
  return whole.count() == 0 ? 0 : static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

struct StepWindow {
  Nanoseconds start, end;
};

// The stages of one pipeline.
class PipelineDrawing {
 public:
  PipelineDrawing(TimelineView& view, PipelineSummary& summary) : view_(view), summary_(summary) {}

  void draw(std::span<PipelineStage> stages, std::string name) {
    group_ = view_.add_group(std::move(name));
    windows_.clear();
    boxes_.clear();
    for (PipelineStage& stage : stages) {
      std::ranges::sort(stage.boxes, {},
                        [](const PipelineBox& box) { return std::tuple(box.step, box.start, box.end); });
      for (const PipelineBox& box : stage.boxes) {
        const auto [window, is_new] = windows_.try_emplace(box.step, StepWindow{box.start, box.end});
        window->second.start = std::min(window->second.start, box.start);
        window->second.end = std::max(window->second.end, box.end);
        micro_batches_[box.step].insert(box.micro_batch);
      }
      last_stage_ = std::max(last_stage_, stage.stage);
    }
    for (const auto& [step, window] : windows_) {
      summary_.start = first_ ? window.start : std::min(summary_.start, window.start);
      summary_.end = first_ ? window.end : std::max(summary_.end, window.end);
      first_ = false;
    }
    for (const PipelineStage& stage : stages) draw_stage(stage, stages);
    for (const PipelineStage& stage : stages) draw_extras(stage, stages);
    link();
    const auto step_count = static_cast<std::int64_t>(windows_.size());
    summary_.steps = std::max(summary_.steps, step_count);
    for (const auto& [step, batches] : micro_batches_)
      summary_.micro_batches = std::max(summary_.micro_batches, static_cast<std::int64_t>(batches.size()));
  }

 private:
  static std::string stage_name(const PipelineStage& stage, std::span<PipelineStage> stages) {
    const bool one_rank = std::ranges::count(stages, stage.stage, &PipelineStage::stage) == 1;
    return one_rank && stage.rank == stage.stage ? format("stage {}", stage.stage)
                                                 : format("stage {}, rank {}", stage.stage, stage.rank);
  }

  void draw_stage(const PipelineStage& stage, std::span<PipelineStage> stages) {
    const std::uint32_t lane = view_.add_lane({.name = stage_name(stage, stages), .group = group_});
    PipelineStageSummary figures{.pipeline = stage.pipeline,
                                 .stage = stage.stage,
                                 .rank = stage.rank,
                                 .timed_bubble_share = stage.timed_bubble_share};
    const std::uint32_t labels[2] = {view_.label("forward", TimelineKind::kForward),
                                     view_.label("backward", TimelineKind::kBackward)};
    auto box = stage.boxes.begin();
    for (const auto& [step, window] : windows_) {
      figures.window += window.end - window.start;
      Nanoseconds free = window.start;  // up to here the stage is accounted for
      for (; box != stage.boxes.end() && box->step == step; ++box) {
        if (box->start > free) bubble(lane, free, box->start, figures);
        free = std::max(free, box->end);
      }
      if (window.end > free) bubble(lane, free, window.end, figures);
    }
    for (const PipelineBox& work : stage.boxes) {
      const TimelineEventRef event = view_.add(lane, {.start = work.start.count(),
                                                      .duration = (work.end - work.start).count(),
                                                      .label = labels[work.backward ? 1 : 0],
                                                      .micro_batch = work.micro_batch,
                                                      .chunk = work.chunk});
      boxes_[{work.step, work.micro_batch, work.backward, work.chunk, stage.stage}].push_back(event);
      (work.backward ? figures.backward : figures.forward) += work.end - work.start;
      ++(work.backward ? figures.backwards : figures.forwards);
      last_chunk_ = std::max(last_chunk_, work.chunk);
    }
    view_.lane(lane).note = format("bubble {:.1f}%", 100 * figures.bubble_share());
    summary_.boxes += static_cast<std::int64_t>(stage.boxes.size());
    summary_.stages.push_back(figures);
  }

  void bubble(std::uint32_t lane, Nanoseconds start, Nanoseconds end, PipelineStageSummary& figures) {
    figures.bubble += end - start;
    view_.add(lane, {.start = start.count(),
                     .duration = (end - start).count(),
                     .label = view_.label("bubble", TimelineKind::kBubble)});
  }

  void draw_extras(const PipelineStage& stage, std::span<PipelineStage> stages) {
    const std::uint32_t bytes = view_.number_column("bytes", "B");
    for (const bool optimizer : {false, true}) {
      const std::vector<PipelineExtra>& extras = optimizer ? stage.optimizer : stage.reductions;
      if (extras.empty()) continue;
      const std::uint32_t lane = view_.add_lane(
          {.name = format("{}: {}", stage_name(stage, stages), optimizer ? "optimizer" : "reductions"),
           .group = group_});
      for (const PipelineExtra& extra : extras) {
        const TimelineNumber number{.column = bytes, .value = extra.bytes.count()};
        view_.add(lane, {.start = extra.start.count(),
                         .duration = (extra.end - extra.start).count(),
                         .label = view_.label(
                             extra.name, optimizer ? TimelineKind::kOptimizer : TimelineKind::kCommunication),
                         .numbers = std::span(&number, extra.bytes.count() > 0 ? 1 : 0)});
      }
    }
  }

  // From the forward work on a micro-batch to that of the next chunk in the model's order, and back.
  void link() {
    for (const auto& [key, events] : boxes_) {
      auto [step, micro_batch, backward, chunk, stage] = key;
      if (backward) {
        if (stage == 0 && chunk == 0) continue;
        chunk = static_cast<std::uint16_t>(stage == 0 ? chunk - 1 : chunk);
        stage = stage == 0 ? last_stage_ : stage - 1;
      } else {
        if (stage == last_stage_ && chunk == last_chunk_) continue;
        chunk = static_cast<std::uint16_t>(stage == last_stage_ ? chunk + 1 : chunk);
        stage = stage == last_stage_ ? 0 : stage + 1;
      }
      const auto next = boxes_.find({step, micro_batch, backward, chunk, stage});
      // With several ranks of a stage there is no telling which of them a message went to.
      if (next == boxes_.end() || events.size() != 1 || next->second.size() != 1) continue;
      view_.link(events.front(), next->second.front(), TimelineLinkKind::kMessage);
    }
  }

  // Step, micro-batch, backward, chunk, stage.
  using BoxKey = std::tuple<std::int64_t, std::int32_t, bool, std::uint16_t, std::int64_t>;

  TimelineView& view_;
  PipelineSummary& summary_;
  std::uint32_t group_ = 0;
  bool first_ = true;
  std::int64_t last_stage_ = 0;
  std::uint16_t last_chunk_ = 0;
  std::map<std::int64_t, StepWindow> windows_;
  std::map<std::int64_t, std::set<std::int32_t>> micro_batches_;
  std::map<BoxKey, std::vector<TimelineEventRef>> boxes_;
};

}  // namespace

double PipelineStageSummary::bubble_share() const {
  return share_of(bubble, window);
}

double PipelineSummary::bubble_share() const {
  Nanoseconds bubbles, windows;
  for (const PipelineStageSummary& stage : stages) {
    bubbles += stage.bubble;
    windows += stage.window;
  }
  return share_of(bubbles, windows);
}

PipelineSummary draw_pipeline(TimelineView& view, std::vector<PipelineStage> stages) {
  PipelineSummary summary;
  view.pipeline = true;
  std::ranges::sort(stages, {}, [](const PipelineStage& stage) {
    return std::tuple(stage.pipeline, stage.stage, stage.rank);
  });
  PipelineDrawing drawing(view, summary);
  std::set<std::int64_t> names;
  for (const PipelineStage& stage : stages) names.insert(stage.pipeline);
  for (std::size_t begin = 0; begin < stages.size();) {
    std::size_t end = begin;
    while (end < stages.size() && stages[end].pipeline == stages[begin].pipeline) ++end;
    const std::span<PipelineStage> members = std::span(stages).subspan(begin, end - begin);
    drawing.draw(members,
                 names.size() == 1 ? std::string("pipeline") : format("pipeline {}", stages[begin].pipeline));
    summary.stage_count = std::max(summary.stage_count, members.back().stage - members.front().stage + 1);
    ++summary.pipelines;
    begin = end;
  }
  return summary;
}

}  // namespace nadi::inline show
