#include "nadi/draw/timeline_from_traces.h"

#include <algorithm>
#include <set>
#include <utility>

#include "nadi/analysis/meetings.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/draw/rank_timeline.h"

namespace nadi::inline show {
namespace {

constexpr std::size_t kShownNames = 12;
constexpr std::size_t kMostMarks = 1000;

// The communication of a rank, and where its events are.
struct RankLinks {
  RankCalls calls;
  CallEvents events;
};

class RunTimeline {
 public:
  RunTimeline(TimelineView& view, const TimelineFromTracesOptions& options)
      : options_(options), filling_{.view = view, .selection = options.selection} {}

  TimelineSummary run(const std::vector<std::filesystem::path>& files) {
    read_run(files, options_.reading, [this](const ReadRank& rank) { add(rank); });
    require_something();
    link_ranks();
    mark_steps();
    std::ranges::sort(summary_.ranks, {}, &TimelineRankSummary::rank);
    find_ends();
    return std::move(summary_);
  }

 private:
  void add(const ReadRank& rank) {
    ranks_seen_.insert(rank.rank);
    if (!options_.selection.ranks.contains(rank.rank)) return;
    try {
      add_checked(rank);
    } catch (const Error& error) {
      // A sum that does not fit: the file is at fault, not the question.
      if (error.kind() != ErrorKind::kInfeasible) throw;
      throw input_error({.file = rank.file}, format("{}, added up", error.message()));
    }
  }

  void add_checked(const ReadRank& rank) {
    const TraceDependencies dependencies(rank.trace, {.file = rank.file, .record_bytes = {}});
    const Timeline timeline(rank.trace, dependencies);
    if (timeline.clock() == TimelineClock::kNone)
      throw input_error(
          {.file = rank.file}, "no node of this trace has a time: there is nothing to draw",
          "a trace that was written without running the step has no times; run the step and record it");
    if (timeline.clock() == TimelineClock::kReplayed)
      filling_.view.notes.push_back(
          format("rank {}: the trace has durations and no starts; starts are those of a replay of its "
                 "dependencies",
                 rank.rank));
    Nanoseconds offset;
    if (const auto base = base_time_of(rank.trace)) {
      if (!base_time_) base_time_ = base;
      offset = *base - *base_time_;
    }
    for (std::uint32_t row = 0; row < timeline.size(); ++row)
      if (timeline.activity(row) != Activity::kNone && !timeline.has_time(row)) ++summary_.without_times;
    for (const std::int64_t step : timeline.steps()) steps_seen_.insert(step);
    TimelineRankSummary& figures = summary_.ranks.emplace_back();
    figures.rank = rank.rank;
    figures.file = rank.file;
    RankTimeline filled(filling_, timeline, rank.rank, offset);
    filled.fill(figures, summary_);
    summary_.events += figures.events;
    links_.push_back({.calls = calls_of(timeline, rank.rank, offset), .events = filled.take_call_events()});
  }

  template <typename Names>
  static std::string list(const Names& names) {
    std::vector<typename Names::value_type> shown;
    for (const auto& name : names) {
      if (shown.size() == kShownNames) break;
      shown.push_back(name);
    }
    return format("{}{}", fmt::join(shown, ", "), names.size() > kShownNames ? ", ..." : "");
  }

  void require_something() const {
    const TimelineSelection& selection = options_.selection;
    if (summary_.ranks.empty())
      throw usage_error(format("no trace is of rank {}", selection.ranks.to_string()),
                        format("the traces are of rank {}", list(ranks_seen_)));
    for (const std::string& word : selection.streams)
      if (!filling_.streams_found.contains(word))
        throw usage_error(format("no lane is called '{}'", word),
                          format("device, host, or one of: {}", list(filling_.lanes_seen)));
    if (summary_.events > 0) return;
    if (!selection.steps.is_all())
      throw usage_error(format("no event is of step {}", selection.steps.to_string()),
                        steps_seen_.empty() ? "the traces name no steps"
                                            : format("the traces have steps {}", list(steps_seen_)));
    if (selection.from || selection.to) throw usage_error("no event lies in this window of time");
    throw input_error({.file = summary_.ranks.front().file}, "no node of this trace is an event");
  }

  void link_ranks() {
    std::ranges::sort(links_, {}, [](const RankLinks& links) { return links.calls.rank; });
    std::vector<RankCalls> calls;
    for (RankLinks& links : links_) calls.push_back(std::move(links.calls));
    const Meetings meetings(calls);
    TimelineView& view = filling_.view;
    meetings.for_each_collective([&](const std::string&, std::int64_t, Meetings::Members members) {
      const TimelineEventRef* before = nullptr;
      bool linked = false;
      for (const auto& [rank, call] : members) {
        const TimelineEventRef* event = links_[rank].events.find(calls[rank].calls[call].row);
        if (event == nullptr) continue;
        if (before != nullptr) view.link(*before, *event, TimelineLinkKind::kCollective);
        linked = linked || before != nullptr;
        before = event;
      }
      summary_.collectives += linked ? 1 : 0;
    });
    meetings.for_each_message(
        [&](std::size_t sender, std::size_t send, std::size_t receiver, std::size_t receive) {
          const TimelineEventRef* from = links_[sender].events.find(calls[sender].messages[send].row);
          const TimelineEventRef* to = links_[receiver].events.find(calls[receiver].messages[receive].row);
          if (from == nullptr || to == nullptr) return;
          view.link(*from, *to, TimelineLinkKind::kMessage);
          ++summary_.messages;
        });
  }

  void mark_steps() {
    if (filling_.step_starts.size() > kMostMarks) return;
    for (const auto& [step, start] : filling_.step_starts)
      filling_.view.marks.push_back({.time = start.count(), .name = format("step {}", step)});
  }

  void find_ends() {
    const TimelineView& view = filling_.view;
    bool first = true;
    for (std::uint32_t lane = 0; lane < view.lane_count(); ++lane) {
      const TimelineView::Events& events = view.events(lane);
      for (std::size_t i = 0; i < events.starts.size(); ++i) {
        const Nanoseconds start{events.starts[i]}, end{events.starts[i] + events.durations[i]};
        summary_.start = first ? start : std::min(summary_.start, start);
        summary_.end = first ? end : std::max(summary_.end, end);
        first = false;
      }
    }
  }

  const TimelineFromTracesOptions& options_;
  TimelineFilling filling_;
  TimelineSummary summary_;
  std::vector<RankLinks> links_;
  std::set<std::int64_t> ranks_seen_, steps_seen_;
  std::optional<Nanoseconds> base_time_;
};

}  // namespace

TimelineSummary timeline_from_traces(TimelineView& view, const std::vector<std::filesystem::path>& files,
                                     const TimelineFromTracesOptions& options) {
  return RunTimeline(view, options).run(files);
}

}  // namespace nadi::inline show
