#include "nadi/draw/pipeline_from_traces.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "nadi/analysis/timeline.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_number.h"
#include "nadi/parallel/plan.h"

namespace nadi::inline show {
namespace {

// Ops that are launched one after the other may have so much between them.
constexpr Nanoseconds kLaunchGap{50'000};

// A rank as a stage, before it is known which pipeline it belongs to.
struct TracedStage {
  PipelineStage stage;
  std::optional<Coordinates> place = {};  // where the metadata say it
  std::optional<Plan> plan = {};
  std::set<std::int64_t> peers = {};  // of its messages
};

// A degree of the metadata, which are texts there.
std::optional<std::int64_t> degree_of(const Trace& trace, std::string_view name) {
  constexpr std::int64_t kMostRanks = std::int64_t{1} << 24;
  const TraceAttribute* attribute = trace.metadata.attributes.find(name);
  if (attribute == nullptr) return std::nullopt;
  std::int64_t value = attribute->integer().value_or(0);
  if (const auto text = attribute->string()) {
    if (!read_number(*text, value)) return std::nullopt;
  }
  return value >= 1 && value <= kMostRanks ? std::optional(value) : std::nullopt;
}

std::optional<Plan> plan_of(const Trace& trace, std::int64_t rank) {
  const auto tp = degree_of(trace, "tp"), cp = degree_of(trace, "cp"), dp = degree_of(trace, "dp"),
             pp = degree_of(trace, "pp");
  if (!tp || !cp || !dp || !pp) return std::nullopt;
  constexpr std::int64_t kMostRanks = std::int64_t{1} << 30;
  if (*tp > kMostRanks / *cp || *tp * *cp > kMostRanks / *dp || *tp * *cp * *dp > kMostRanks / *pp)
    return std::nullopt;
  const Plan plan{.tp = *tp, .cp = *cp, .dp = *dp, .pp = *pp};
  return rank >= 0 && rank < plan.world_size() ? std::optional(plan) : std::nullopt;
}

// What the section of an op says about it.
struct SectionKind {
  bool is_work = false;       // of a chunk's forward or backward pass
  bool is_reduction = false;  // of gradients
  std::uint16_t chunk = 0;
};
SectionKind section_kind(std::string_view section, std::string_view phase) {
  if (section.starts_with("reduce_")) return {.is_reduction = true};
  if (section.empty() || section == phase) return {.is_work = true};
  if (!section.starts_with(phase) || section[phase.size()] != '_') return {};
  const std::string_view number = section.substr(phase.size() + 1);
  std::uint16_t chunk = 0;
  if (!read_number(number, chunk)) return {};
  return {.is_work = true, .chunk = chunk};
}

class RankStage {
 public:
  RankStage(const Timeline& timeline, const TimelineSelection& selection, Nanoseconds offset)
      : timeline_(timeline),
        trace_(timeline.trace()),
        selection_(selection),
        offset_(offset),
        micro_batch_(trace_.text_number("micro_batch")),
        section_(trace_.text_number("section")) {}

  bool names_micro_batches() const { return micro_batch_.has_value(); }

  // `window_start` is what --from counts from.
  void fill(TracedStage& traced, Nanoseconds window_start) {
    std::vector<std::uint32_t> rows;
    for (std::uint32_t row = 0; row < timeline_.size(); ++row)
      if (is_device(timeline_.activity(row)) && timeline_.has_time(row) && is_chosen(row, window_start))
        rows.push_back(row);
    std::ranges::stable_sort(rows, {}, [this](std::uint32_t row) { return timeline_.start(row); });
    for (const std::uint32_t row : rows) add(row, traced.stage);
    for (const Communication& call : timeline_.communications())
      if (call.peer) traced.peers.insert(*call.peer);
  }

 private:
  bool is_chosen(std::uint32_t row, Nanoseconds window_start) const {
    if (!selection_.steps.is_all()) {
      const std::optional<std::int64_t> step = timeline_.step(row);
      if (!step || !selection_.steps.contains(*step)) return false;
    }
    const Nanoseconds start = timeline_.start(row) + offset_, end = timeline_.end(row) + offset_;
    return (!selection_.from || end >= window_start + *selection_.from) &&
           (!selection_.to || start <= window_start + *selection_.to);
  }

  void add(std::uint32_t row, PipelineStage& stage) {
    const std::string_view phase = timeline_.text(timeline_.phase(row));
    const bool communicates = timeline_.activity(row) == Activity::kCommunication;
    if (communicates && trace_.type(row) != NodeType::kCommColl) return;  // a message
    const std::optional<TraceAttribute> said =
        section_ ? trace_.find_attribute(row, *section_) : std::nullopt;
    const std::string_view section = said ? said->string().value_or("") : "";
    const Nanoseconds start = timeline_.start(row) + offset_, end = timeline_.end(row) + offset_;
    const SectionKind kind = section_kind(section, phase);
    const bool backward = phase == "backward";
    if (kind.is_reduction || (communicates && phase == "optimizer")) {
      stage.reductions.push_back(
          {.name = std::string(trace_.name(row)), .start = start, .end = end, .bytes = bytes_of(row)});
    } else if (phase == "optimizer") {
      add_optimizer(section.empty() ? phase : section, start, end, stage);
    } else if (kind.is_work && (backward || phase == "forward")) {
      add_work(row, backward, kind.chunk, start, end, stage);
    }
  }

  Bytes bytes_of(std::uint32_t row) const {
    const std::span<const Communication> calls = timeline_.communications();
    const auto at = std::ranges::lower_bound(calls, row, {}, &Communication::row);
    return at != calls.end() && at->row == row ? at->size.value_or(Bytes{}) : Bytes{};
  }

  // Ops in a row are one box. Where the optimizer waits, for a reduction say, its box ends.
  void add_optimizer(std::string_view name, Nanoseconds start, Nanoseconds end, PipelineStage& stage) {
    const auto follows = [&](const PipelineExtra& before) {
      const Nanoseconds gap = start - before.end;
      return before.name == name && (gap <= kLaunchGap || gap * 10 <= before.end - before.start);
    };
    if (last_ == Last::kOptimizer && follows(stage.optimizer.back()))
      stage.optimizer.back().end = std::max(stage.optimizer.back().end, end);
    else
      stage.optimizer.push_back({.name = std::string(name), .start = start, .end = end});
    last_ = Last::kOptimizer;
  }

  void add_work(std::uint32_t row, bool backward, std::uint16_t chunk, Nanoseconds start, Nanoseconds end,
                PipelineStage& stage) {
    const std::optional<TraceAttribute> said = trace_.find_attribute(row, *micro_batch_);
    const std::optional<std::int64_t> number = said ? said->integer() : std::nullopt;
    if (!number || *number < 0 || *number > std::numeric_limits<std::int32_t>::max()) return;
    PipelineBox box{.backward = backward,
                    .micro_batch = static_cast<std::int32_t>(*number),
                    .chunk = chunk,
                    .step = timeline_.step(row).value_or(0),
                    .start = start,
                    .end = end};
    if (last_ == Last::kWork) {
      PipelineBox& before = stage.boxes.back();
      if (before.backward == box.backward && before.micro_batch == box.micro_batch &&
          before.chunk == box.chunk && before.step == box.step) {
        before.end = std::max(before.end, end);
        return;
      }
    }
    stage.boxes.push_back(box);
    last_ = Last::kWork;
  }

  enum class Last : std::uint8_t { kNothing, kWork, kOptimizer };

  const Timeline& timeline_;
  const Trace& trace_;
  const TimelineSelection& selection_;
  const Nanoseconds offset_;
  const std::optional<std::uint32_t> micro_batch_, section_;
  Last last_ = Last::kNothing;  // what was added last
};

class RunPipeline {
 public:
  RunPipeline(TimelineView& view, const PipelineFromTracesOptions& options)
      : view_(view), options_(options) {}

  PipelineSummary run(const std::vector<std::filesystem::path>& files) {
    read_run(files, options_.reading, [this](const ReadRank& rank) { add(rank); });
    if (traced_.empty())
      throw usage_error(format("no trace is of rank {}", options_.selection.ranks.to_string()));
    place();
    std::vector<PipelineStage> stages;
    std::size_t boxes = 0;
    for (TracedStage& traced : traced_) {
      boxes += traced.stage.boxes.size();
      stages.push_back(std::move(traced.stage));
    }
    if (boxes == 0)
      throw usage_error("no forward or backward op lies in what is chosen", "choose other steps or times");
    return draw_pipeline(view_, std::move(stages));
  }

 private:
  void add(const ReadRank& rank) {
    if (!options_.selection.ranks.contains(rank.rank)) return;
    const TraceDependencies dependencies(rank.trace, {.file = rank.file, .record_bytes = {}});
    const Timeline timeline(rank.trace, dependencies);
    if (timeline.clock() == TimelineClock::kNone)
      throw input_error({.file = rank.file}, "no node of this trace has a time: there is nothing to draw",
                        "a trace that was written without running the step has no times; run the step and "
                        "record it");
    Nanoseconds offset;
    if (const auto base = base_time_of(rank.trace)) {
      if (!base_time_) base_time_ = base;
      offset = *base - *base_time_;
    }
    RankStage stage(timeline, options_.selection, offset);
    if (!stage.names_micro_batches())
      throw input_error({.file = rank.file}, "no event of this trace names its micro-batch",
                        "traces of runs of Nadi do; other traces can be drawn as a timeline");
    if (!window_start_) window_start_ = first_start_of(timeline) + offset;
    TracedStage& traced = traced_.emplace_back();
    traced.stage.rank = rank.rank;
    traced.plan = plan_of(rank.trace, rank.rank);
    stage.fill(traced, *window_start_);
  }

  static Nanoseconds first_start_of(const Timeline& timeline) {
    std::optional<Nanoseconds> first;
    for (std::uint32_t lane = 0; lane < timeline.lanes().size(); ++lane)
      if (!timeline.rows_of(lane).empty()) {
        const Nanoseconds start = timeline.start(timeline.rows_of(lane).front());
        first = first ? std::min(*first, start) : start;
      }
    return first.value_or(Nanoseconds{});
  }

  // Which pipeline and stage each rank is.
  void place() {
    const bool planned =
        std::ranges::all_of(traced_, [](const TracedStage& t) { return t.plan.has_value(); });
    if (!planned) return place_by_messages();
    for (TracedStage& traced : traced_) {
      Coordinates place = coordinates_of(*traced.plan, Rank{static_cast<std::int32_t>(traced.stage.rank)});
      traced.stage.stage = place.pp;
      place.pp = 0;
      traced.stage.pipeline = to_number(rank_at(*traced.plan, place));
    }
  }

  // Ranks that exchange messages are one pipeline, which has the number of its lowest rank.
  void place_by_messages() {
    std::map<std::int64_t, std::size_t> positions;
    for (std::size_t i = 0; i < traced_.size(); ++i) positions.emplace(traced_[i].stage.rank, i);
    std::vector<std::size_t> parents(traced_.size());
    std::iota(parents.begin(), parents.end(), std::size_t{0});
    const auto root = [&parents](std::size_t i) {
      while (parents[i] != i) i = parents[i] = parents[parents[i]];
      return i;
    };
    for (std::size_t i = 0; i < traced_.size(); ++i)
      for (const std::int64_t peer : traced_[i].peers)
        if (const auto at = positions.find(peer); at != positions.end()) parents[root(i)] = root(at->second);
    std::map<std::size_t, std::vector<std::size_t>> members;
    for (const auto& [rank, i] : positions) members[root(i)].push_back(i);
    for (const auto& [ignored, ranks] : members)
      for (std::size_t stage = 0; stage < ranks.size(); ++stage) {
        traced_[ranks[stage]].stage.stage = static_cast<std::int64_t>(stage);
        traced_[ranks[stage]].stage.pipeline = traced_[ranks.front()].stage.rank;
      }
    view_.notes.emplace_back(
        "the files do not say which stage a rank is: ranks that exchange messages are shown as a pipeline, "
        "in "
        "the order of ranks");
  }

  TimelineView& view_;
  const PipelineFromTracesOptions& options_;
  std::vector<TracedStage> traced_;
  std::optional<Nanoseconds> base_time_, window_start_;
};

}  // namespace

PipelineSummary pipeline_from_traces(TimelineView& view, const std::vector<std::filesystem::path>& files,
                                     const PipelineFromTracesOptions& options) {
  return RunPipeline(view, options).run(files);
}

}  // namespace nadi::inline show
