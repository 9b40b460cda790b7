#include "nadi/draw/timeline_from_log.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/draw/log_timers.h"
#include "nadi/megatron_log/log_reader.h"

namespace nadi::inline show {
namespace {

constexpr std::size_t kMostIterationMarks = 1000;

// The timers of one rank, or of the fastest or slowest, in an iteration.
struct RankTimer {
  std::string_view name;
  Nanoseconds time;
};

class LogTimeline {
 public:
  LogTimeline(TimelineView& view, const TimelineSelection& selection) : view_(view), selection_(selection) {}

  TimelineSummary run(const TrainingLog& log) {
    require_iterations(log);
    iterations_lane_ = view_.add_lane({.name = "iterations", .group = view_.add_group("job")});
    Nanoseconds start;
    for (const LoggedIteration& iteration : log.iterations) {
      const bool chosen =
          selection_.steps.contains(iteration.iteration) && in_window(start, start + iteration.time);
      if (chosen)
        add(iteration, start);
      else
        ++summary_.left_out;
      start += iteration.time;
    }
    if (summary_.events == 0) throw usage_error("no iteration of the log lies in what is chosen");
    for (auto& [rank, figures] : ranks_) summary_.ranks.push_back(std::move(figures.summary));
    view_.notes.emplace_back(
        "from a training log: each iteration is the mean since the line before; timers are drawn one after "
        "the "
        "other, since the log has their sums and not their moments");
    return std::move(summary_);
  }

 private:
  struct RankLanes {
    TimelineRankSummary summary = {};
    std::uint32_t outer = kNoLane, inner = kNoLane;
  };

  bool in_window(Nanoseconds start, Nanoseconds end) const {
    return (!selection_.from || end >= *selection_.from) && (!selection_.to || start <= *selection_.to);
  }

  void add(const LoggedIteration& iteration, Nanoseconds start) {
    const std::string loss = iteration.loss ? format("{:.6g}", *iteration.loss) : "";
    const std::string tflops = iteration.tflops_per_rank ? format("{:.1f}", *iteration.tflops_per_rank) : "";
    std::vector<std::pair<std::string_view, std::string_view>> texts;
    if (!loss.empty()) texts.emplace_back("loss", loss);
    if (!tflops.empty()) texts.emplace_back("TFLOP/s per GPU", tflops);
    put(iterations_lane_, format("iteration {}", iteration.iteration), TimelineKind::kOther, start,
        iteration.time, view_.detail(texts));
    if (view_.marks.size() < kMostIterationMarks)
      view_.marks.push_back({.time = start.count(), .name = format("{}", iteration.iteration)});
    std::map<std::int64_t, std::vector<RankTimer>> by_rank;
    std::vector<RankTimer> slowest;
    for (const LoggedTimer& timer : iteration.timers) {
      for (const LoggedRank& rank : timer.ranks)
        if (selection_.ranks.contains(rank.rank)) by_rank[rank.rank].push_back({timer.name, rank.time});
      if (timer.most) slowest.push_back({timer.name, *timer.most});
    }
    for (const auto& [rank, timers] : by_rank) add_timers(lanes_of(rank), timers, start);
    if (!slowest.empty()) add_timers(lanes_of_slowest(), slowest, start);
  }

  RankLanes& lanes_of(std::int64_t rank) {
    const auto [entry, is_new] = ranks_.try_emplace(rank);
    if (is_new) {
      entry->second.summary.rank = rank;
      add_lanes(entry->second, format("rank {}", rank));
    }
    return entry->second;
  }

  RankLanes& lanes_of_slowest() {
    if (slowest_.outer == kNoLane) add_lanes(slowest_, "slowest rank of each timer");
    return slowest_;
  }

  void add_lanes(RankLanes& lanes, std::string name) {
    const std::uint32_t group = view_.add_group(std::move(name));
    lanes.outer = view_.add_lane({.name = "parts of the iteration", .group = group});
    lanes.inner = view_.add_lane({.name = "within forward-backward", .group = group});
    lanes.summary.lanes = 2;
  }

  void add_timers(RankLanes& lanes, const std::vector<RankTimer>& timers, Nanoseconds start) {
    const bool has_whole = std::ranges::find(timers, kWholePassTimer, &RankTimer::name) != timers.end();
    Nanoseconds outer = start, inner = start, whole;
    for (const RankTimer& timer : timers) {
      const TimerPlace place = place_of_timer(timer.name);
      if (place == TimerPlace::kElsewhere) continue;
      const bool within = place == TimerPlace::kWithinPass && has_whole;
      Nanoseconds& at = within ? inner : outer;
      put(within ? lanes.inner : lanes.outer, timer.name, kind_of_timer(timer.name), at, timer.time, 0);
      at += timer.time;
      if (timer.name == kWholePassTimer) whole = timer.time;
      count(lanes.summary, timer);
    }
    // Idle is what no timer within forward-backward has of it.
    lanes.summary.span += whole;
    if (inner - start < whole) lanes.summary.idle += whole - (inner - start);
  }

  static void count(TimelineRankSummary& figures, const RankTimer& timer) {
    ++figures.events;
    if (timer.name == kWholePassTimer) return;
    switch (kind_of_timer(timer.name)) {
      case TimelineKind::kCommunication:
        figures.communication += timer.time;
        return;
      case TimelineKind::kHost:
        figures.host += timer.time;
        return;
      default:
        figures.compute += timer.time;
    }
  }

  void put(std::uint32_t lane, std::string_view name, TimelineKind kind, Nanoseconds start,
           Nanoseconds duration, std::uint32_t detail) {
    view_.add(lane, {.start = start.count(),
                     .duration = duration.count(),
                     .label = view_.label(name, kind),
                     .detail = detail});
    summary_.start = summary_.events == 0 ? start : std::min(summary_.start, start);
    summary_.end = std::max(summary_.end, start + duration);
    ++summary_.events;
  }

  TimelineView& view_;
  const TimelineSelection& selection_;
  TimelineSummary summary_;
  std::uint32_t iterations_lane_ = 0;
  std::map<std::int64_t, RankLanes> ranks_;
  RankLanes slowest_;
};

}  // namespace

TimelineSummary timeline_from_log(TimelineView& view, const TrainingLog& log,
                                  const TimelineSelection& selection) {
  return LogTimeline(view, selection).run(log);
}

}  // namespace nadi::inline show
