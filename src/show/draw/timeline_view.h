// What a timeline shows: lanes of events with names, kinds, details and links. Readers of traces fill it,
// timeline_page.h writes it as a page.
//
//   TimelineView view;
//   view.title = "gpt2, 2 ranks";
//   const std::uint32_t rank = view.add_group("rank 0");
//   const std::uint32_t stream = view.add_lane({.name = "stream 7", .group = rank});
//   const TimelineEventRef launch = view.add(host, {.start = 100, .duration = 20,
//       .label = view.label("cudaLaunchKernel", TimelineKind::kHost)});
//   const TimelineEventRef kernel = view.add(stream, {.start = 130, .duration = 900,
//       .label = view.label("gemm", TimelineKind::kCompute),
//       .detail = view.detail({{"shapes", "[4, 512] x [512, 768]"}})});
//   view.link(launch, kernel, TimelineLinkKind::kLaunch);
//   write_timeline_page(view, "timeline.html", Overwrite::kRefuse);
//
// Times are nanoseconds on one clock for all lanes, of any origin; the page counts from the first event.
// Events of a lane may come in any order. Those that overlap or lie within each other get rows of their own
// (stacks of a host's calls). Groups and lanes are shown in the order in which they were added.
//
// What many events have in common is kept once: labels (name and kind) and details (texts of the panel that a
// click opens, such as shapes). Figures that differ from event to event (bytes, FLOPs, ids) belong into
// number columns, not into details: the page then stays at a few bytes an event.
//
// Measured beside predicted: a lane with `predicted_of` holds the predicted events of another lane and is
// drawn below it, both at half the height. A link kPrediction from a predicted event to the measured one lets
// the page compare the two.
//
// Pipelines (`pipeline` = true): a lane per stage with kForward and kBackward events that carry their
// micro-batch, kBubble events where the stage waits (hatched; `note` of the lane says their share), and
// lanes of their own for reductions and the optimizer. Boxes are labelled with the micro-batch, in shades of
// `chunk`.
//
// A million events take some 40 MB here, links 20 bytes each. Past 2^32 events Error (infeasible).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/trace/string_table.h"

namespace nadi::inline show {

// What an event is: its colour, and a row of the sums over a range. In the order of the legend.
enum class TimelineKind : std::uint8_t {
  kCompute,
  kCommunication,
  kMemory,     // copies and fills
  kHost,       // ops, calls and launches of a host thread
  kForward,    // of a pipeline: a micro-batch through a stage
  kBackward,   //
  kOptimizer,  //
  kIdle,       // a gap that is worth showing
  kBubble,     // of a pipeline: the stage waits
  kOther,
};
inline constexpr int kTimelineKinds = 10;
// "compute", "communication", ...
std::string_view to_string(TimelineKind kind);

enum class TimelineLinkKind : std::uint8_t {
  kDependency,    // `to` could not start before `from` ended; shown at a click
  kLaunch,        // a host's call and the kernel it launched; shown at a click
  kMessage,       // send to receive: a flow line
  kCollective,    // the same collective on the next rank: a flow line; chain the members in order of ranks
  kPrediction,    // a predicted event and the measured one
  kCriticalPath,  // the next event on the critical path: drawn where the user asks for it
};

struct TimelineEventRef {
  std::uint32_t lane = 0;
  std::uint32_t index = 0;  // in the order of add()
  friend bool operator==(const TimelineEventRef&, const TimelineEventRef&) = default;
};

struct TimelineNumber {
  std::uint32_t column = 0;  // of number_column()
  std::int64_t value = 0;
};

inline constexpr std::int32_t kNoMicroBatch = -1;

struct TimelineEvent {
  std::int64_t start = 0;     // ns
  std::int64_t duration = 0;  // ns, not negative
  std::uint32_t label = 0;    // of label()
  std::uint32_t detail = 0;   // of detail(); 0 means none
  std::int32_t micro_batch = kNoMicroBatch;
  std::uint16_t chunk = 0;  // model chunk of an interleaved pipeline
  std::span<const TimelineNumber> numbers = {};
};

inline constexpr std::uint32_t kNoLane = std::numeric_limits<std::uint32_t>::max();

struct TimelineLane {
  std::string name = {};
  std::uint32_t group = 0;
  std::string note = {};  // beside the name, as "bubble 23.1 %"
  std::uint32_t predicted_of = kNoLane;
};

struct TimelineGroup {
  std::string name = {};
  std::string note = {};
  bool collapsed = false;  // shown as one line at first
};

// A line through all lanes, with a name at the top: where a step begins.
struct TimelineMark {
  std::int64_t time = 0;
  std::string name = {};
};

class TimelineView {
 public:
  std::string title = {};
  std::string subtitle = {};            // what was measured, in a line
  std::vector<std::string> notes = {};  // remarks for the reader: what was left out, how starts were found
  std::vector<TimelineMark> marks = {};
  bool pipeline = false;

  std::uint32_t add_group(TimelineGroup group);
  std::uint32_t add_group(std::string name) { return add_group(TimelineGroup{.name = std::move(name)}); }
  std::uint32_t add_lane(TimelineLane lane);

  // The number of a name with its kind, of a set of texts (key, value; empty is number 0), of a column of
  // figures. The same one for the same arguments. `unit` is "B", "FLOP", "ns" or "" for plain numbers.
  std::uint32_t label(std::string_view name, TimelineKind kind);
  std::uint32_t detail(std::span<const std::pair<std::string_view, std::string_view>> texts);
  std::uint32_t detail(std::initializer_list<std::pair<std::string_view, std::string_view>> texts) {
    return detail(std::span(texts.begin(), texts.size()));
  }
  std::uint32_t number_column(std::string_view name, std::string_view unit = "");

  // Throws Error (input) where the duration is negative or the end does not fit 63 bits.
  TimelineEventRef add(std::uint32_t lane, const TimelineEvent& event);
  void link(TimelineEventRef from, TimelineEventRef to, TimelineLinkKind kind);

  // Changes notes and flags after lanes were filled.
  TimelineLane& lane(std::uint32_t lane) { return lanes_[lane].about; }
  const TimelineLane& lane(std::uint32_t lane) const { return lanes_[lane].about; }
  TimelineGroup& group(std::uint32_t group) { return groups_[group]; }
  const TimelineGroup& group(std::uint32_t group) const { return groups_[group]; }
  std::uint32_t group_count() const { return static_cast<std::uint32_t>(groups_.size()); }
  std::uint32_t lane_count() const { return static_cast<std::uint32_t>(lanes_.size()); }
  std::uint32_t event_count(std::uint32_t lane) const {
    return static_cast<std::uint32_t>(lanes_[lane].starts.size());
  }
  std::uint64_t event_count() const;

  // Columns, for those who write or test a view.
  struct Label {
    std::uint32_t name = 0;  // of text()
    TimelineKind kind = TimelineKind::kOther;
    friend auto operator<=>(const Label&, const Label&) = default;
  };
  struct NumberColumn {
    std::string name;
    std::string unit;
  };
  struct SparseNumber {
    std::uint32_t index = 0;  // of the event; rising
    std::int64_t value = 0;
  };
  struct Events {
    TimelineLane about;
    std::vector<std::int64_t> starts;
    std::vector<std::int64_t> durations;
    std::vector<std::uint32_t> labels;
    std::vector<std::uint32_t> details;
    std::vector<std::int32_t> micro_batches;         // as long as `starts`, or shorter: kNoMicroBatch
    std::vector<std::uint16_t> chunks;               // likewise: 0
    std::vector<std::vector<SparseNumber>> numbers;  // by column; may be shorter
  };
  struct Link {
    TimelineEventRef from = {};
    TimelineEventRef to = {};
    TimelineLinkKind kind = TimelineLinkKind::kDependency;
  };
  const Events& events(std::uint32_t lane) const { return lanes_[lane]; }
  const std::vector<Link>& links() const { return links_; }
  const std::vector<Label>& labels() const { return labels_; }
  const std::vector<NumberColumn>& number_columns() const { return columns_; }
  // Key and value in turn, as numbers of text().
  std::span<const std::uint32_t> detail_texts(std::uint32_t detail) const;
  std::uint32_t detail_count() const { return static_cast<std::uint32_t>(detail_ends_.size()); }
  std::string_view text(std::uint32_t number) const { return texts_.text(number); }
  std::uint32_t text_count() const { return static_cast<std::uint32_t>(texts_.size()); }

 private:
  StringTable texts_;
  std::vector<TimelineGroup> groups_;
  std::vector<Events> lanes_;
  std::vector<Link> links_;
  std::vector<Label> labels_;
  std::map<Label, std::uint32_t> label_numbers_;
  std::vector<std::uint32_t> detail_words_;
  std::vector<std::uint32_t> detail_ends_ = {0};
  std::map<std::u32string, std::uint32_t, std::less<>> detail_numbers_;
  std::vector<NumberColumn> columns_;
};

}  // namespace nadi::inline show
