#include "nadi/analysis/strip.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

namespace nadi::inline traces {
namespace {

// Columns of the time shown; about what a wide screen has pixels, zoomed in a little.
constexpr std::int64_t kColumns = 4000;
constexpr std::int64_t kLeastColumns = 50;
constexpr std::size_t kMaxCrossings = 2000;

constexpr std::array kLanes{&RankStrip::host, &RankStrip::compute, &RankStrip::communication,
                            &RankStrip::memory, &RankStrip::path};

std::vector<StripBox>& lane_of(RankStrip& strip, Activity activity) {
  return activity == Activity::kHost            ? strip.host
         : activity == Activity::kCompute       ? strip.compute
         : activity == Activity::kCommunication ? strip.communication
                                                : strip.memory;
}

// Boxes may overlap before, in the order of their starts; a node's box counts its time once.
void join_overlapping(std::vector<StripBox>& boxes) {
  std::size_t kept = 0;
  for (const StripBox& box : boxes) {
    if (kept == 0 || box.start >= boxes[kept - 1].end) {
      boxes[kept++] = box;
      continue;
    }
    StripBox& last = boxes[kept - 1];
    if (box.longest > last.longest) std::tie(last.longest, last.name) = std::tie(box.longest, box.name);
    last.nodes += box.nodes;
    last.end = std::max(last.end, box.end);
    last.busy = last.end - last.start;
  }
  boxes.resize(kept);
}

// Two boxes that leave less than the resolution between them are joined where they are alike, or where one of
// them is too small to be seen. So a lane has at most two boxes per unit of resolution.
void join_close(std::vector<StripBox>& boxes, Nanoseconds resolution) {
  std::size_t kept = 0;
  for (const StripBox& box : boxes) {
    if (kept > 0) {
      StripBox& last = boxes[kept - 1];
      const bool small = last.end - last.start < resolution || box.end - box.start < resolution;
      if (box.start - last.end < resolution && (box.activity == last.activity || small)) {
        if (box.longest > last.longest)
          std::tie(last.longest, last.name, last.activity) = std::tie(box.longest, box.name, box.activity);
        last.nodes += box.nodes;
        last.busy += box.busy;
        last.end = box.end;
        continue;
      }
    }
    boxes[kept++] = box;
  }
  boxes.resize(kept);
}

struct Extent {
  Nanoseconds start = {}, end = {};
  bool any = false;

  void add(const std::vector<StripBox>& boxes) {
    if (boxes.empty()) return;
    start = any ? std::min(start, boxes.front().start) : boxes.front().start;
    end = any ? std::max(end, boxes.back().end) : boxes.back().end;
    any = true;
  }
};

Extent extent_of(const RankStrip& strip) {
  Extent extent;
  for (const auto lane : kLanes) extent.add(strip.*lane);
  return extent;
}

void coarsen(RankStrip& strip, std::int64_t columns, Nanoseconds time) {
  const Nanoseconds resolution{time.count() / columns + 1};
  for (const auto lane : kLanes) join_close(strip.*lane, resolution);
}

// Each name once, without those that no box has any more.
void drop_names(RankStrip& strip) {
  std::map<std::string_view, std::uint32_t> places;
  std::vector<std::string> names;
  for (const auto lane : kLanes)
    for (StripBox& box : strip.*lane) {
      const std::string& name = strip.names[box.name];
      const auto [place, is_new] = places.try_emplace(name, static_cast<std::uint32_t>(names.size()));
      if (is_new) names.push_back(name);
      box.name = place->second;
    }
  strip.names = std::move(names);
}

void keep_most_critical(Strips& strips) {
  if (strips.ranks.size() <= kMaxStripRanks) return;
  const auto critical = [](const RankStrip& strip) {
    Nanoseconds time;
    for (const StripBox& box : strip.path) time += box.busy;
    return time;
  };
  std::ranges::stable_sort(strips.ranks, std::greater<>{}, critical);
  strips.ranks_left_out = static_cast<std::int64_t>(strips.ranks.size() - kMaxStripRanks);
  strips.ranks.resize(kMaxStripRanks);
  std::ranges::sort(strips.ranks, {}, &RankStrip::rank);
  const auto is_kept = [&](std::int64_t rank) {
    return std::ranges::binary_search(strips.ranks, rank, {}, &RankStrip::rank);
  };
  std::erase_if(strips.crossings, [&](const StripCrossing& crossing) {
    return !is_kept(crossing.from) || !is_kept(crossing.to);
  });
}

// Every n-th.
void thin_crossings(std::vector<StripCrossing>& crossings) {
  if (crossings.size() <= kMaxCrossings) return;
  const std::size_t every = (crossings.size() + kMaxCrossings - 1) / kMaxCrossings;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < crossings.size(); i += every) crossings[kept++] = crossings[i];
  crossings.resize(kept);
}

}  // namespace

RankStrip strip_of(const Timeline& timeline, std::int64_t rank, Nanoseconds clock_offset) {
  RankStrip strip{.rank = rank};
  std::map<std::uint32_t, std::uint32_t> numbers;  // of a label, in names
  for (std::uint32_t row = 0; row < timeline.size(); ++row) {
    const Activity activity = timeline.activity(row);
    if (activity == Activity::kNone || !timeline.has_time(row)) continue;
    const Nanoseconds start = timeline.start(row) + clock_offset;
    const Nanoseconds end =
        (activity == Activity::kHost ? timeline.inclusive_end(row) : timeline.end(row)) + clock_offset;
    const auto [number, is_new] =
        numbers.try_emplace(timeline.label(row), static_cast<std::uint32_t>(strip.names.size()));
    if (is_new) strip.names.emplace_back(timeline.text(timeline.label(row)));
    lane_of(strip, activity)
        .push_back({.start = start,
                    .end = end,
                    .busy = end - start,
                    .longest = end - start,
                    .nodes = 1,
                    .name = number->second,
                    .activity = activity});
  }
  for (const auto lane : kLanes) {
    std::ranges::stable_sort(strip.*lane, {}, &StripBox::start);
    join_overlapping(strip.*lane);
  }
  const Extent extent = extent_of(strip);
  coarsen(strip, kColumns, extent.end - extent.start);
  drop_names(strip);
  return strip;
}

void add_path(Strips& strips, const CriticalPath& path) {
  std::map<std::pair<std::int64_t, std::string_view>, std::uint32_t> numbers;
  const CriticalStretch* before = nullptr;
  for (const CriticalStretch& stretch : path.stretches) {
    if (before != nullptr && before->rank != stretch.rank)
      strips.crossings.push_back({.from = before->rank, .to = stretch.rank, .at = stretch.from});
    before = &stretch;
    const auto strip = std::ranges::lower_bound(strips.ranks, stretch.rank, {}, &RankStrip::rank);
    if (strip == strips.ranks.end() || strip->rank != stretch.rank) continue;
    const std::string_view name = path.rows[stretch.row].name;
    const auto [number, is_new] =
        numbers.try_emplace({stretch.rank, name}, static_cast<std::uint32_t>(strip->names.size()));
    if (is_new) strip->names.emplace_back(name);
    const Nanoseconds length = stretch.to - stretch.from;
    strip->path.push_back({.start = stretch.from,
                           .end = stretch.to,
                           .busy = length,
                           .longest = length,
                           .nodes = 1,
                           .name = number->second,
                           .activity = path.rows[stretch.row].activity});
  }
}

void fit_strips(Strips& strips, std::size_t most) {
  keep_most_critical(strips);
  thin_crossings(strips.crossings);
  Nanoseconds longest;
  for (const RankStrip& strip : strips.ranks) {
    const Extent extent = extent_of(strip);
    longest = std::max(longest, extent.end - extent.start);
  }
  const auto boxes = [&] {
    std::size_t sum = 0;
    for (const RankStrip& strip : strips.ranks) sum += strip.boxes();
    return sum;
  };
  for (RankStrip& strip : strips.ranks) coarsen(strip, kColumns, longest);
  for (std::int64_t columns = kColumns / 2; columns >= kLeastColumns && boxes() > most; columns /= 2)
    for (RankStrip& strip : strips.ranks) coarsen(strip, columns, longest);
  for (RankStrip& strip : strips.ranks) drop_names(strip);
}

}  // namespace nadi::inline traces
