#include "nadi/draw/timeline_from_simulation.h"

#include <algorithm>
#include <map>
#include <string>

#include "nadi/analysis/timeline.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/draw/activity_kind.h"
#include "nadi/parallel/step_walk.h"

namespace nadi::inline show {
namespace {

std::vector<Rank> shown_ranks(TimelineView& view, const SimulationResult& result,
                              const SimulatedTimelineOptions& options) {
  std::vector<Rank> ranks = options.ranks;
  for (const Rank rank : ranks) {
    const bool known = std::ranges::any_of(result.classes, [&](const SimulatedClass& one) {
      return std::ranges::binary_search(one.ranks, rank);
    });
    if (!known) throw usage_error(format("rank {} was not simulated", to_number(rank)));
  }
  if (!ranks.empty()) return ranks;
  for (const SimulatedClass& one : result.classes)
    if (ranks.size() < options.most) ranks.push_back(one.ranks.front());
  if (ranks.size() < result.classes.size())
    view.notes.push_back(format("{} of {} classes of ranks are shown", ranks.size(), result.classes.size()));
  return ranks;
}

std::string rank_title(const SimulatedClass& one, Rank rank, std::string_view more) {
  std::string title = format("rank {}{}", to_number(rank), more);
  if (one.ranks.size() > 1) title += format(", and {} like it", one.ranks.size() - 1);
  return title;
}

std::string share_note(Nanoseconds idle, Nanoseconds whole) {
  if (whole == Nanoseconds{}) return "";
  return format("bubble {:.1f} %", 100 * to_seconds(idle) / to_seconds(whole));
}

TimelineKind kind_of_phase(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return TimelineKind::kForward;
    case Phase::kRecompute:
    case Phase::kBackward:
      return TimelineKind::kBackward;
    case Phase::kOptimizer:
      return TimelineKind::kOptimizer;
  }
  unreachable();
}

std::string simulated_lane_name(const RankBinding& binding) {
  switch (binding.kind) {
    case RankBinding::Kind::kNone:
      return std::string(to_string(Activity::kCompute));
    case RankBinding::Kind::kCollective:
      return format("collectives of {}", to_string(binding.group));
    case RankBinding::Kind::kSend:
      return "messages sent";
    case RankBinding::Kind::kReceive:
      return "messages received";
  }
  unreachable();
}

void add_simulated_trace(TimelineView& view, const Timeline& timeline, const SimulatedClass& one, Rank rank,
                         Nanoseconds whole, bool recorded) {
  const std::uint32_t group = view.add_group(rank_title(one, rank, ""));
  // Recorded times count from the first of them, as predicted ones do.
  std::optional<Nanoseconds> first;
  for (std::uint32_t row = 0; row < timeline.size(); ++row)
    if (timeline.activity(row) != Activity::kNone && timeline.has_time(row))
      first = std::min(first.value_or(timeline.start(row)), timeline.start(row));
  const bool beside = recorded && first && timeline.clock() != TimelineClock::kNone;
  std::vector<std::uint32_t> measured(timeline.lanes().size(), kNoLane), predicted(timeline.lanes().size());
  for (std::uint32_t lane = 0; lane < timeline.lanes().size(); ++lane) {
    const Lane& about = timeline.lanes()[lane];
    if (beside) measured[lane] = view.add_lane({.name = about.name, .group = group});
    predicted[lane] = view.add_lane({.name = about.name, .group = group, .predicted_of = measured[lane]});
  }
  view.group(group).note = share_note(one.breakdown.bubble, whole);
  for (std::uint32_t row = 0; row < timeline.size(); ++row) {
    const Activity activity = timeline.activity(row);
    if (activity == Activity::kNone) continue;
    const std::uint32_t label = view.label(timeline.text(timeline.label(row)), kind_of(activity));
    const std::string_view layer = timeline.text(timeline.layer(row));
    const std::uint32_t detail = layer.empty() ? 0 : view.detail({{"layer", layer}});
    const NodeTime& time = one.nodes[row];
    const std::uint32_t lane = timeline.lane(row);
    const TimelineEventRef event = view.add(predicted[lane], {.start = time.start.count(),
                                                              .duration = (time.end - time.start).count(),
                                                              .label = label,
                                                              .detail = detail});
    if (!beside || !timeline.has_time(row)) continue;
    const TimelineEventRef real = view.add(measured[lane], {.start = (timeline.start(row) - *first).count(),
                                                            .duration = timeline.duration(row).count(),
                                                            .label = label,
                                                            .detail = detail});
    view.link(event, real, TimelineLinkKind::kPrediction);
  }
}

}  // namespace

std::size_t timeline_from_simulated_step(TimelineView& view, const StagePrograms& programs,
                                         const SimulationResult& result,
                                         const SimulatedTimelineOptions& options) {
  const std::vector<Rank> ranks = shown_ranks(view, result, options);
  const std::uint32_t bytes_column = view.number_column("bytes", "B");
  for (const Rank rank : ranks) {
    const SimulatedClass& one = result.class_of(rank);
    const Plan& plan = programs.plan();
    const std::uint32_t group =
        view.add_group(rank_title(one, rank, plan.pp > 1 ? format(", stage {}", one.source) : ""));
    view.group(group).note = share_note(one.breakdown.bubble, result.iteration_time);
    std::map<StreamId, std::uint32_t> lanes;
    StepWalk walk(programs.of(one.source), {.plan = &plan, .dependencies = false, .costs = false});
    for (StepOp at; walk.next(at);) {
      const auto [lane, fresh] = lanes.try_emplace(at.stream);
      if (fresh) lane->second = view.add_lane({.name = simulated_lane_name(at.binding), .group = group});
      const NodeTime& time = one.nodes[to_number(at.id)];
      const bool computes = at.binding.kind == RankBinding::Kind::kNone;
      const TimelineNumber bytes{bytes_column, at.bytes.count()};
      TimelineEvent event{.start = time.start.count(), .duration = (time.end - time.start).count()};
      event.label = view.label(to_string(at.op->kind),
                               computes ? kind_of_phase(at.op->phase) : TimelineKind::kCommunication);
      event.detail =
          view.detail({{"layer", at.graph->layer(at.op->layer)}, {"phase", to_string(at.op->phase)}});
      event.micro_batch = at.micro_batch;
      if (!computes) event.numbers = std::span(&bytes, 1);
      view.add(lane->second, event);
    }
  }
  return ranks.size();
}

std::size_t timeline_from_simulated_traces(TimelineView& view,
                                           const std::vector<std::filesystem::path>& files,
                                           const RunReadingOptions& reading, const SimulationResult& result,
                                           const SimulatedTimelineOptions& options) {
  const std::vector<Rank> ranks = shown_ranks(view, result, options);
  // Sources count traces by rank, and files may come in any order.
  std::map<std::int64_t, std::int32_t> positions;
  read_run(files, reading, [&](const ReadRank& read) { positions[read.rank] = 0; });
  std::int32_t position = 0;
  for (auto& [rank, place] : positions) place = position++;
  read_run(files, reading, [&](const ReadRank& read) {
    for (const Rank rank : ranks) {
      const SimulatedClass& one = result.class_of(rank);
      if (one.source != positions.at(read.rank)) continue;
      const TraceDependencies dependencies(read.trace);
      const Timeline timeline(read.trace, dependencies);
      add_simulated_trace(view, timeline, one, rank, result.iteration_time, options.recorded);
    }
  });
  return ranks.size();
}

}  // namespace nadi::inline show
