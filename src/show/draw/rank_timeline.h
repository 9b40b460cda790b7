// One rank's trace as lanes of a timeline. Internal to timeline_from_traces.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nadi/analysis/intervals.h"
#include "nadi/analysis/rank_calls.h"
#include "nadi/analysis/timeline.h"
#include "nadi/draw/timeline_selection.h"
#include "nadi/draw/timeline_summary.h"
#include "nadi/draw/timeline_view.h"

namespace nadi::inline show {

// What all ranks share while a view is filled.
struct TimelineFilling {
  TimelineView& view;
  const TimelineSelection& selection;
  std::optional<Nanoseconds> window_start = {};          // what --from counts from: set by the first rank
  std::map<std::int64_t, Nanoseconds> step_starts = {};  // of all ranks
  std::set<std::string> lanes_seen = {};                 // of all ranks, shown or not
  std::set<std::string> streams_found = {};              // words of the selection that fitted a lane
};

// The event of a call of RankCalls, for links between ranks.
class CallEvents {
 public:
  void put(std::uint32_t row, TimelineEventRef event) { events_.emplace_back(row, event); }
  void sort();
  const TimelineEventRef* find(std::uint32_t row) const;  // nullptr where it is not shown

 private:
  std::vector<std::pair<std::uint32_t, TimelineEventRef>> events_;  // by row
};

class RankTimeline {
 public:
  // `clock_offset` is added to all times.
  RankTimeline(TimelineFilling& filling, const Timeline& timeline, std::int64_t rank,
               Nanoseconds clock_offset);

  // Adds the group, its lanes, events and the links within the rank.
  void fill(TimelineRankSummary& summary, TimelineSummary& all);

  CallEvents take_call_events() { return std::move(call_events_); }

 private:
  // What is wanted of a node's attributes, besides what a Timeline has.
  struct Facts {
    std::int32_t micro_batch = kNoMicroBatch;
    std::string_view category, grid, block;
  };
  struct DetailKey {
    const void* texts[6];
    std::uint32_t numbers[5];
    bool operator==(const DetailKey&) const = default;
  };
  struct DetailKeyHash {
    std::size_t operator()(const DetailKey& key) const;
  };

  bool is_shown(std::uint32_t row) const;
  bool is_unrecorded(std::uint32_t row) const;
  bool is_lane_shown(const Lane& lane);
  Nanoseconds start(std::uint32_t row) const { return timeline_.start(row) + offset_; }
  Nanoseconds end(std::uint32_t row) const;
  void add_event(std::uint32_t row, std::uint32_t view_lane, TimelineRankSummary& summary);
  void add_idle(TimelineRankSummary& summary);
  void link_launches(TimelineSummary& all);
  void link_dependencies(TimelineSummary& all);
  Facts facts_of(std::uint32_t row) const;
  std::uint32_t label_of(std::uint32_t row);
  std::uint32_t detail_of(std::uint32_t row, const Facts& facts, const Communication* communication);
  const Communication* communication_of(std::uint32_t row) const;
  std::optional<TimelineEventRef> event_of(std::uint32_t row) const;

  TimelineFilling& filling_;
  TimelineView& view_;
  const Timeline& timeline_;
  const Trace& trace_;
  std::int64_t rank_;
  Nanoseconds offset_;
  std::uint32_t group_ = 0;
  std::vector<std::uint32_t> view_lanes_;            // by lane; kNoLane: not shown
  std::vector<std::uint32_t> indices_;               // of events, by row; kNoRow: not shown
  std::vector<std::pair<const char*, int>> wanted_;  // addresses of the names of wanted attributes
  std::optional<std::uint32_t> gap_name_;            // of nodes that stand for unrecorded time
  std::vector<std::uint32_t> label_numbers_[5];      // by activity and text; kNoRow: not asked for yet
  std::unordered_map<DetailKey, std::uint32_t, DetailKeyHash> details_;
  std::uint32_t bytes_column_, work_column_, peer_column_, tag_column_;
  Intervals busy_;  // of the device, of what the selection of steps and times has
  CallEvents call_events_;
};

}  // namespace nadi::inline show
