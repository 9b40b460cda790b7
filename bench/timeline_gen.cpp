// Writes the page of a timeline with any number of events, for measuring how pages open and move
// (timeline_page.mjs):
//
//   timeline_gen EVENTS OUTPUT.html TRACE...
//
// The events are those of real traces, of the formats that `nadi timeline` reads, repeated one run after the
// other until there are enough. Every duration, and every gap, is changed by up to 5 % at random, so that the
// page's data cannot be packed as repetitions.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/draw/timeline_from_traces.h"
#include "nadi/draw/timeline_page.h"
#include "nadi/draw/timeline_rows.h"

namespace nadi::bench {
namespace {

// Adds the events of one view to another, again and again.
class Repeater {
 public:
  Repeater(const TimelineView& once, TimelineView& all) : once_(once), all_(all) {
    for (std::uint32_t i = 0; i < once.group_count(); ++i) all_.add_group(once.group(i));
    for (std::uint32_t i = 0; i < once.lane_count(); ++i) all_.add_lane(once.lane(i));
    for (const TimelineView::NumberColumn& column : once.number_columns())
      all_.number_column(column.name, column.unit);
    for (const TimelineView::Label& label : once.labels())
      labels_.push_back(all_.label(once.text(label.name), label.kind));
    for (std::uint32_t i = 0; i < once.detail_count(); ++i) {
      std::vector<std::pair<std::string_view, std::string_view>> texts;
      const std::span<const std::uint32_t> words = once.detail_texts(i);
      for (std::size_t at = 0; at < words.size(); at += 2)
        texts.emplace_back(once.text(words[at]), once.text(words[at + 1]));
      details_.push_back(all_.detail(texts));
    }
    begin_ = std::numeric_limits<std::int64_t>::max();
    for (std::uint32_t lane = 0; lane < once.lane_count(); ++lane)
      for (std::size_t i = 0; i < once.events(lane).starts.size(); ++i) {
        begin_ = std::min(begin_, once.events(lane).starts[i]);
        end_ = std::max(end_, once.events(lane).starts[i] + once.events(lane).durations[i]);
      }
  }

  void add_once() {
    std::vector<std::uint32_t> firsts;
    for (std::uint32_t lane = 0; lane < once_.lane_count(); ++lane) {
      firsts.push_back(all_.event_count(lane));
      add_lane(lane);
    }
    for (TimelineView::Link link : once_.links()) {
      link.from.index += firsts[link.from.lane];
      link.to.index += firsts[link.to.lane];
      all_.link(link.from, link.to, link.kind);
    }
    // Room for all lanes to become 5 % longer.
    offset_ += (end_ - begin_) / 19 * 20 + 1000;
  }

 private:
  double factor() { return 0.95 + 0.1 * uniform_(random_); }
  static std::int64_t scaled(std::int64_t time, double by) {
    return std::llround(static_cast<double>(time) * by);
  }

  // Gaps and durations of the topmost row change by themselves; what lies within an event moves with it, and
  // changes within the room that it had.
  void move_times(const TimelineView::Events& events) {
    const TimelineRows rows = timeline_rows(events.starts, events.durations);
    starts_.resize(events.starts.size());
    durations_.resize(events.starts.size());
    std::uint32_t above = 0, above_end = 0, place = 0;
    std::int64_t before = begin_, cursor = begin_;
    for (const std::uint32_t end : rows.ends) {
      const std::uint32_t begin = place;
      for (; place < end; ++place) {
        const std::uint32_t i = rows.order[place];
        if (begin == 0) {
          starts_[i] = cursor + scaled(events.starts[i] - before, factor());
          durations_[i] = scaled(events.durations[i], factor());
          before = events.starts[i] + events.durations[i];
          cursor = starts_[i] + durations_[i];
          continue;
        }
        while (above + 1 < above_end && events.starts[rows.order[above + 1]] <= events.starts[i]) ++above;
        const std::uint32_t outer = rows.order[above];
        const double by = events.durations[outer] > 0 ? static_cast<double>(durations_[outer]) /
                                                            static_cast<double>(events.durations[outer])
                                                      : 1;
        const std::int64_t room = scaled(events.durations[i], by);
        const std::int64_t late = scaled(room, 0.05 * uniform_(random_));
        starts_[i] = starts_[outer] + scaled(events.starts[i] - events.starts[outer], by) + late;
        durations_[i] = std::max<std::int64_t>(0, scaled(room, 1 - 0.05 * uniform_(random_)) - late);
      }
      above = begin;
      above_end = end;
    }
  }

  void add_lane(std::uint32_t lane) {
    const TimelineView::Events& events = once_.events(lane);
    move_times(events);
    std::vector<std::size_t> next_number(events.numbers.size());
    for (std::uint32_t i = 0; i < events.starts.size(); ++i) {
      numbers_.clear();
      for (std::uint32_t column = 0; column < events.numbers.size(); ++column) {
        std::size_t& next = next_number[column];
        if (next < events.numbers[column].size() && events.numbers[column][next].index == i)
          numbers_.push_back({.column = column, .value = events.numbers[column][next++].value});
      }
      all_.add(lane,
               {.start = starts_[i] + offset_,
                .duration = durations_[i],
                .label = labels_[events.labels[i]],
                .detail = details_[events.details[i]],
                .micro_batch = i < events.micro_batches.size() ? events.micro_batches[i] : kNoMicroBatch,
                .numbers = numbers_});
    }
  }

  const TimelineView& once_;
  TimelineView& all_;
  std::vector<std::uint32_t> labels_, details_;
  std::vector<TimelineNumber> numbers_;
  std::vector<std::int64_t> starts_, durations_;
  std::int64_t begin_ = 0, end_ = 0, offset_ = 0;
  std::mt19937 random_{1};
  std::uniform_real_distribution<double> uniform_{0, 1};
};

int generate(std::uint64_t events, const std::filesystem::path& output,
             const std::vector<std::filesystem::path>& files) {
  TimelineView once;
  timeline_from_traces(once, files, {});
  if (once.event_count() == 0) throw usage_error("these traces have no events");
  TimelineView all;
  all.title = std::to_string(events) + " events";
  all.subtitle = "the events of " + files.front().filename().string() + ", repeated with 5 % of jitter";
  Repeater repeater(once, all);
  while (all.event_count() < events) repeater.add_once();
  const Bytes size = write_timeline_page(all, output, Overwrite::kAllow);
  std::printf(
      "{\"events\": %llu, \"links\": %zu, \"lanes\": %u, \"bytes\": %lld, \"bytes_per_event\": %.2f}\n",
      static_cast<unsigned long long>(all.event_count()), all.links().size(), all.lane_count(),
      static_cast<long long>(size.count()),
      static_cast<double>(size.count()) / static_cast<double>(all.event_count()));
  return 0;
}

}  // namespace
}  // namespace nadi::bench

int main(int count, char** arguments) {
  if (count < 4) {
    std::fprintf(stderr, "usage: timeline_gen EVENTS OUTPUT.html TRACE...\n");
    return 2;
  }
  try {
    return nadi::bench::generate(std::strtoull(arguments[1], nullptr, 10), arguments[2],
                                 {arguments + 3, arguments + count});
  } catch (const nadi::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return nadi::exit_code(error.kind());
  }
}
