#include "nadi/analysis/critical_path.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "nadi/base/error.h"

namespace nadi {
namespace {

constexpr int kMaxNesting = 1000;  // as in op_table.cpp

enum class Unknown : std::uint32_t { kLaunchDelay, kUntraced };

class PathWalk {
 public:
  explicit PathWalk(const Timeline& timeline) : timeline_(timeline), visited_(timeline.size()) {}

  CriticalPath run() {
    std::uint32_t row = last_row();
    if (row == kNoRow) return {};
    Nanoseconds until = finish(row);
    path_.end = until;
    while (row != kNoRow) {
      ++path_.nodes;
      visited_[row] = true;
      const Nanoseconds begun = std::min(until, begin(row, until));
      charge(row, until - begun);
      const std::uint32_t parent = latest_parent(row, begun);
      until = begun;
      if (parent != kNoRow) {
        until = std::min(finish(parent), begun);
        charge_gap({until, begun}, row, parent);
      }
      row = parent;
    }
    path_.start = until;
    collect();
    return std::move(path_);
  }

 private:
  struct Gap {
    Nanoseconds from, to;
  };

  Nanoseconds finish(std::uint32_t row) const {
    return timeline_.activity(row) == Activity::kHost ? timeline_.inclusive_end(row) : timeline_.end(row);
  }

  // A call that synchronises counts from the end of what it waited for.
  Nanoseconds begin(std::uint32_t row, Nanoseconds until) const {
    Nanoseconds begun = timeline_.start(row);
    if (timeline_.activity(row) != Activity::kHost) return begun;
    for (const std::uint32_t parent : timeline_.dependencies().parents(row))
      if (is_device(timeline_.activity(parent)))
        begun = std::max(begun, std::min(timeline_.end(parent), until));
    return begun;
  }

  // The last to end of the nodes that nothing depends on: an op that encloses others ends after them but does
  // not come after them.
  std::uint32_t last_row() const {
    std::vector<bool> is_parent(timeline_.size());
    for (std::uint32_t row = 0; row < timeline_.size(); ++row)
      if (timeline_.activity(row) != Activity::kNone)
        for (const std::uint32_t parent : timeline_.dependencies().parents(row)) is_parent[parent] = true;
    std::uint32_t last = kNoRow;
    for (std::uint32_t row = 0; row < timeline_.size(); ++row)
      if (timeline_.activity(row) != Activity::kNone && timeline_.has_time(row) && !is_parent[row] &&
          (last == kNoRow || finish(row) >= finish(last)))
        last = row;
    return last;
  }

  std::uint32_t latest_parent(std::uint32_t row, Nanoseconds begun) const {
    const auto parents = timeline_.dependencies().parents(row);
    const std::size_t control = timeline_.trace().ctrl_deps(row).size();
    const auto order = [&](std::uint32_t parent) {
      return std::tuple(std::min(finish(parent), begun), timeline_.start(parent), parent);
    };
    std::uint32_t latest = kNoRow;
    for (std::size_t i = 0; i < parents.size(); ++i) {
      const Activity activity = timeline_.activity(parents[i]);
      const bool encloses = i < control && control < parents.size() && activity == Activity::kHost;
      if (activity == Activity::kNone || encloses || !timeline_.has_time(parents[i])) continue;
      if (latest == kNoRow || order(parents[i]) > order(latest)) latest = parents[i];
    }
    const std::uint32_t before = before_on_lane(row);
    // Times that contradict the dependencies could lead round in a circle.
    if (before != kNoRow && !visited_[before] && timeline_.end(before) <= begun &&
        (latest == kNoRow || order(before) > order(latest)))
      latest = before;
    return latest != kNoRow && visited_[latest] ? kNoRow : latest;
  }

  std::uint32_t before_on_lane(std::uint32_t row) const {
    if (!is_device(timeline_.activity(row))) return kNoRow;
    const auto rows = timeline_.rows_of(timeline_.lane(row));
    const auto place = std::ranges::lower_bound(
        rows, std::pair(timeline_.start(row), row), {},
        [this](std::uint32_t other) { return std::pair(timeline_.start(other), other); });
    return place == rows.begin() ? kNoRow : *(place - 1);
  }

  void charge_gap(Gap gap, std::uint32_t row, std::uint32_t parent) {
    if (gap.from >= gap.to) return;
    const bool from_host = timeline_.activity(parent) == Activity::kHost;
    if (from_host && is_device(timeline_.activity(row)))
      return charge_unknown(Unknown::kLaunchDelay, gap.to - gap.from);
    // What is left of the ops around the parent, from the innermost outwards.
    std::uint32_t op = from_host ? timeline_.enclosing(parent) : kNoRow;
    for (int depth = 0; op != kNoRow && gap.from < gap.to && depth < kMaxNesting; ++depth) {
      const Nanoseconds end = std::min(timeline_.inclusive_end(op), gap.to);
      if (end > gap.from) {
        charge(op, end - gap.from);
        gap.from = end;
      }
      op = timeline_.enclosing(op);
    }
    if (gap.from < gap.to) charge_unknown(Unknown::kUntraced, gap.to - gap.from);
  }

  void charge(std::uint32_t row, Nanoseconds time) {
    const Activity activity = timeline_.activity(row);
    CriticalRow& entry = rows_[{activity, timeline_.label(row)}];
    ++entry.nodes;
    entry.time += time;
    phases_[timeline_.phase(row)] += time;
    total_of(activity) += time;
  }

  void charge_unknown(Unknown kind, Nanoseconds time) {
    CriticalRow& entry = rows_[{Activity::kNone, static_cast<std::uint32_t>(kind)}];
    ++entry.nodes;
    entry.time += time;
    phases_[0] += time;
    path_.waiting += time;
  }

  Nanoseconds& total_of(Activity activity) {
    switch (activity) {
      case Activity::kNone:
        return path_.waiting;
      case Activity::kHost:
        return path_.host;
      case Activity::kCompute:
        return path_.compute;
      case Activity::kCommunication:
        return path_.communication;
      case Activity::kMemory:
        return path_.memory;
    }
    unreachable();
  }

  void collect() {
    for (auto& [key, row] : rows_) {
      row.activity = key.first;
      if (row.activity != Activity::kNone)
        row.name = timeline_.text(key.second);
      else
        row.name = Unknown{key.second} == Unknown::kLaunchDelay ? "launch delay" : "untraced";
      path_.rows.push_back(row);
    }
    std::ranges::sort(path_.rows, [](const CriticalRow& a, const CriticalRow& b) {
      return std::tie(b.time, a.activity, a.name) < std::tie(a.time, b.activity, b.name);
    });
    for (const auto& [phase, time] : phases_)
      path_.phases.push_back({std::string(timeline_.text(phase)), time});
    std::ranges::sort(path_.phases, [](const CriticalPhase& a, const CriticalPhase& b) {
      return std::tie(b.time, a.phase) < std::tie(a.time, b.phase);
    });
  }

  const Timeline& timeline_;
  std::vector<bool> visited_;
  CriticalPath path_;
  std::map<std::pair<Activity, std::uint32_t>, CriticalRow> rows_;
  std::map<std::uint32_t, Nanoseconds> phases_;
};

}  // namespace

CriticalPath critical_path(const Timeline& timeline) {
  return PathWalk(timeline).run();
}

LongestChain longest_chain(const Timeline& timeline) {
  std::vector<std::uint32_t> depth(timeline.size());
  std::vector<Flops> work(timeline.size());
  LongestChain longest;
  for (const std::uint32_t row : timeline.dependencies().order()) {
    for (const std::uint32_t parent : timeline.dependencies().parents(row)) {
      depth[row] = std::max(depth[row], depth[parent]);
      work[row] = std::max(work[row], work[parent]);
    }
    if (timeline.activity(row) == Activity::kNone) continue;
    ++depth[row];
    work[row] += timeline.num_ops(row).value_or(Flops{});
    longest.nodes = std::max<std::int64_t>(longest.nodes, depth[row]);
    longest.work = std::max(longest.work, work[row]);
  }
  return longest;
}

}  // namespace nadi
