#include "nadi/draw/timeline_page.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/draw/html_page.h"
#include "nadi/draw/timeline_rows.h"
#include "nadi/draw/varint_block.h"

namespace nadi::inline show {
namespace {

// Times within are exact in the page, whose numbers are doubles.
constexpr std::int64_t kLongestSpan = std::int64_t{1} << 52;

// First start and last end over all events.
struct TimelineSpan {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

TimelineSpan span_of(const TimelineView& view) {
  std::optional<TimelineSpan> span;
  const auto include = [&](std::int64_t begin, std::int64_t end) {
    if (!span) span = TimelineSpan{.begin = begin, .end = end};
    span->begin = std::min(span->begin, begin);
    span->end = std::max(span->end, end);
  };
  for (std::uint32_t lane = 0; lane < view.lane_count(); ++lane) {
    const TimelineView::Events& events = view.events(lane);
    for (std::size_t i = 0; i < events.starts.size(); ++i)
      include(events.starts[i], events.starts[i] + events.durations[i]);
  }
  for (const TimelineMark& mark : view.marks) include(mark.time, mark.time);
  if (!span) return {};
  std::int64_t length = 0;
  if (__builtin_sub_overflow(span->end, span->begin, &length) || length > kLongestSpan)
    throw Error(
        ErrorKind::kInfeasible, {},
        fmt::format("the timeline goes from {} ns to {} ns: more than 52 days", span->begin, span->end),
        "are the clocks of all files the same?");
  return *span;
}

// Writes the columns of a view. Lanes, rows and events come in the order of the page.
class TimelineEncoder {
 public:
  explicit TimelineEncoder(const TimelineView& view) : view_(view), span_(span_of(view)) {
    if (view.event_count() >= std::numeric_limits<std::uint32_t>::max())
      throw Error(ErrorKind::kInfeasible, {},
                  fmt::format("a timeline holds fewer than 2^32 - 1 events, not {}", view.event_count()),
                  "show fewer ranks or steps");
    for (std::uint32_t lane = 0; lane < view.lane_count(); ++lane)
      rows_.push_back(timeline_rows(view.events(lane).starts, view.events(lane).durations));
  }

  void write_blocks(HtmlPage& page) const {
    write_texts(page);
    write_labels(page);
    write_details(page);
    write_times(page);
    write_column(page, "label",
                 [](const TimelineView::Events& events, std::uint32_t i) { return events.labels[i]; });
    if (view_.detail_count() > 1)
      write_column(page, "detail",
                   [](const TimelineView::Events& events, std::uint32_t i) { return events.details[i]; });
    if (any([](const TimelineView::Events& events) { return !events.micro_batches.empty(); }))
      write_column(page, "batch", [](const TimelineView::Events& events, std::uint32_t i) {
        return i < events.micro_batches.size() ? static_cast<std::uint32_t>(events.micro_batches[i] + 1) : 0u;
      });
    if (any([](const TimelineView::Events& events) { return !events.chunks.empty(); }))
      write_column(page, "chunk", [](const TimelineView::Events& events, std::uint32_t i) {
        return i < events.chunks.size() ? std::uint32_t{events.chunks[i]} : 0u;
      });
    for (std::uint32_t column = 0; column < view_.number_columns().size(); ++column)
      write_numbers(page, column);
    if (!view_.links().empty()) write_links(page);
  }

  Json head() const {
    Json groups = Json::array(), lanes = Json::array(), marks = Json::array(), columns = Json::array();
    for (std::uint32_t i = 0; i < view_.group_count(); ++i) {
      const TimelineGroup& group = view_.group(i);
      groups.push_back({{"name", group.name}, {"note", group.note}, {"collapsed", group.collapsed}});
    }
    for (std::uint32_t i = 0; i < view_.lane_count(); ++i) {
      const TimelineLane& lane = view_.lane(i);
      Json counts = Json::array();
      std::uint32_t begin = 0;
      for (const std::uint32_t end : rows_[i].ends) counts.push_back(end - std::exchange(begin, end));
      Json about{
          {"name", lane.name}, {"group", lane.group}, {"note", lane.note}, {"rows", std::move(counts)}};
      if (lane.predicted_of != kNoLane) about["predicted_of"] = lane.predicted_of;
      lanes.push_back(std::move(about));
    }
    for (const TimelineMark& mark : view_.marks)
      marks.push_back({{"time", mark.time - span_.begin}, {"name", mark.name}});
    for (std::uint32_t i = 0; i < view_.number_columns().size(); ++i) {
      std::size_t count = 0;
      for (std::uint32_t lane = 0; lane < view_.lane_count(); ++lane)
        if (i < view_.events(lane).numbers.size()) count += view_.events(lane).numbers[i].size();
      const TimelineView::NumberColumn& column = view_.number_columns()[i];
      columns.push_back({{"name", column.name}, {"unit", column.unit}, {"count", count}});
    }
    Json kinds = Json::array();
    for (int kind = 0; kind < kTimelineKinds; ++kind)
      kinds.push_back(to_string(static_cast<TimelineKind>(kind)));
    return {{"title", view_.title},
            {"subtitle", view_.subtitle},
            {"notes", view_.notes},
            {"pipeline", view_.pipeline},
            {"origin", std::to_string(span_.begin)},
            {"span", span_.end - span_.begin},
            {"events", view_.event_count()},
            {"links", view_.links().size()},
            {"kinds", std::move(kinds)},
            {"groups", std::move(groups)},
            {"lanes", std::move(lanes)},
            {"marks", std::move(marks)},
            {"columns", std::move(columns)}};
  }

 private:
  template <typename Test>
  bool any(Test test) const {
    for (std::uint32_t lane = 0; lane < view_.lane_count(); ++lane)
      if (test(view_.events(lane))) return true;
    return false;
  }

  // Calls visit(events of the lane, number of the event in its lane, whether a row begins) for each event.
  template <typename Visit>
  void for_each_event(Visit visit) const {
    for (std::uint32_t lane = 0; lane < view_.lane_count(); ++lane) {
      std::size_t row = 0, row_begin = 0;
      for (std::size_t place = 0; place < rows_[lane].order.size(); ++place) {
        if (place == rows_[lane].ends[row]) row_begin = rows_[lane].ends[row++];
        visit(view_.events(lane), rows_[lane].order[place], place == row_begin);
      }
    }
  }

  void write_texts(HtmlPage& page) const {
    VarintBlock block(page, "texts");
    block.write(view_.text_count());
    for (std::uint32_t i = 0; i < view_.text_count(); ++i) {
      block.write(view_.text(i).size());
      block.write_bytes(view_.text(i));
    }
  }

  void write_labels(HtmlPage& page) const {
    VarintBlock block(page, "labels");
    for (const TimelineView::Label& label : view_.labels()) {
      block.write(label.name);
      block.write(static_cast<std::uint64_t>(label.kind));
    }
  }

  void write_details(HtmlPage& page) const {
    VarintBlock block(page, "details");
    for (std::uint32_t i = 0; i < view_.detail_count(); ++i) {
      const std::span<const std::uint32_t> texts = view_.detail_texts(i);
      block.write(texts.size() / 2);
      for (const std::uint32_t text : texts) block.write(text);
    }
  }

  void write_times(HtmlPage& page) const {
    {
      VarintBlock block(page, "starts");
      std::int64_t end = span_.begin;
      for_each_event([&](const TimelineView::Events& events, std::uint32_t i, bool first_of_row) {
        if (first_of_row) end = span_.begin;
        block.write_signed(events.starts[i] - end);
        end = events.starts[i] + events.durations[i];
      });
    }
    write_column(page, "durations", [](const TimelineView::Events& events, std::uint32_t i) {
      return static_cast<std::uint64_t>(events.durations[i]);
    });
  }

  template <typename Value>
  void write_column(HtmlPage& page, std::string_view name, Value value) const {
    VarintBlock block(page, name);
    for_each_event(
        [&](const TimelineView::Events& events, std::uint32_t i, bool) { block.write(value(events, i)); });
  }

  void write_numbers(HtmlPage& page, std::uint32_t column) const {
    VarintBlock block(page, fmt::format("number.{}", column));
    std::uint64_t since = 0;
    std::int64_t last = 0;
    for_each_event([&](const TimelineView::Events& events, std::uint32_t i, bool) {
      ++since;
      if (column >= events.numbers.size()) return;
      const std::vector<TimelineView::SparseNumber>& numbers = events.numbers[column];
      const auto found =
          std::lower_bound(numbers.begin(), numbers.end(), i,
                           [](const auto& number, std::uint32_t index) { return number.index < index; });
      if (found == numbers.end() || found->index != i) return;
      block.write(std::exchange(since, 0));
      // Differences wrap around, and so do the page's sums of them.
      block.write_signed(static_cast<std::int64_t>(static_cast<std::uint64_t>(found->value) -
                                                   static_cast<std::uint64_t>(last)));
      last = found->value;
    });
  }

  void write_links(HtmlPage& page) const {
    // Places of events in the page's order, by lane and number.
    std::vector<std::vector<std::uint32_t>> places(view_.lane_count());
    std::uint32_t next = 0;
    for (std::uint32_t lane = 0; lane < view_.lane_count(); ++lane) {
      places[lane].resize(view_.event_count(lane));
      for (const std::uint32_t event : rows_[lane].order) places[lane][event] = next++;
    }
    struct PlacedLink {
      std::uint32_t to, from;
      TimelineLinkKind kind;
    };
    std::vector<PlacedLink> links;
    links.reserve(view_.links().size());
    for (const TimelineView::Link& link : view_.links())
      links.push_back({.to = places[link.to.lane][link.to.index],
                       .from = places[link.from.lane][link.from.index],
                       .kind = link.kind});
    std::sort(links.begin(), links.end(), [](const PlacedLink& a, const PlacedLink& b) {
      return std::tie(a.to, a.from, a.kind) < std::tie(b.to, b.from, b.kind);
    });
    VarintBlock block(page, "links");
    std::uint32_t last = 0;
    for (const PlacedLink& link : links) {
      block.write(link.to - std::exchange(last, link.to));
      block.write_signed(std::int64_t{link.to} - std::int64_t{link.from});
      block.write(static_cast<std::uint64_t>(link.kind));
    }
  }

  const TimelineView& view_;
  TimelineSpan span_;
  std::vector<TimelineRows> rows_;  // by lane
};

}  // namespace

class TimelineBlocks::Encoder : public TimelineEncoder {
  using TimelineEncoder::TimelineEncoder;
};

TimelineBlocks::TimelineBlocks(const TimelineView& view) : encoder_(std::make_unique<Encoder>(view)) {}

TimelineBlocks::~TimelineBlocks() = default;

std::string TimelineBlocks::head() const {
  return dump_json(encoder_->head());
}

void TimelineBlocks::write(HtmlPage& page) const {
  encoder_->write_blocks(page);
}

Bytes write_timeline_page(const TimelineView& view, const std::filesystem::path& path, Overwrite overwrite) {
  HtmlPage page(path, overwrite, timeline_bundle(), view.title);
  const TimelineBlocks blocks(view);
  page.head(blocks.head());
  blocks.write(page);
  page.commit();
  return page.size();
}

}  // namespace nadi::inline show
