#include "nadi/analysis/path_forest.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace nadi::inline traces {
namespace {

constexpr std::string_view kLaunchDelay = "launch delay";
constexpr std::string_view kUntraced = "untraced";

}  // namespace

class PathForestMaker {
 public:
  PathForestMaker(PathForest& forest, const Timeline& timeline, Nanoseconds clock_offset)
      : forest_(forest), timeline_(timeline), offset_(clock_offset) {
    forest_.texts_.emplace_back();
    if (timeline.has_own_ops() && !timeline.has_streams()) order_computations();
  }

  void run(const RankCalls& calls) {
    forest_.rank_ = calls.rank;
    const std::uint32_t last = last_row();
    if (last != kNoRow) forest_.last_ = add_chain(last);
    for (const CollectiveCall& call : calls.calls) forest_.calls_.push_back(add_chain(call.row));
    for (const MessageCall& call : calls.messages) forest_.messages_.push_back(add_chain(call.row));
    for (PathNode& node : forest_.nodes_) shift(node.begin, node.end);
    for (PathGap& gap : forest_.gaps_) shift(gap.from, gap.to);
  }

 private:
  void shift(Nanoseconds& from, Nanoseconds& to) const {
    from += offset_;
    to += offset_;
  }

  Nanoseconds finish(std::uint32_t row) const {
    return timeline_.activity(row) == Activity::kHost ? timeline_.inclusive_end(row) : timeline_.end(row);
  }

  // A call that synchronises counts from the end of what it waited for.
  Nanoseconds begin(std::uint32_t row) const {
    Nanoseconds begun = timeline_.start(row);
    if (timeline_.activity(row) != Activity::kHost) return begun;
    const Nanoseconds finished = finish(row);
    for (const std::uint32_t parent : timeline_.dependencies().parents(row))
      if (is_device(timeline_.activity(parent)))
        begun = std::max(begun, std::min(timeline_.end(parent), finished));
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
    for (const std::uint32_t before : {before_on_lane(row), computed_before(row, begun)})
      if (before != kNoRow && timeline_.end(before) <= begun &&
          (latest == kNoRow || order(before) > order(latest)))
        latest = before;
    return latest;
  }

  void order_computations() {
    for (std::uint32_t row = 0; row < timeline_.size(); ++row)
      if (timeline_.activity(row) == Activity::kCompute && timeline_.has_time(row))
        computations_.push_back(row);
    std::ranges::sort(computations_, {},
                      [this](std::uint32_t row) { return std::pair(timeline_.end(row), row); });
  }

  // For a message or collective of a run of ours on a CPU: what the thread that starts it computed last.
  std::uint32_t computed_before(std::uint32_t row, Nanoseconds begun) const {
    if (computations_.empty() || timeline_.activity(row) == Activity::kCompute ||
        !is_device(timeline_.activity(row)))
      return kNoRow;
    const auto after = std::ranges::upper_bound(computations_, begun, {},
                                                [this](std::uint32_t other) { return timeline_.end(other); });
    return after == computations_.begin() ? kNoRow : *(after - 1);
  }

  std::uint32_t before_on_lane(std::uint32_t row) const {
    if (!is_device(timeline_.activity(row))) return kNoRow;
    const auto rows = timeline_.rows_of(timeline_.lane(row));
    const auto place = std::ranges::lower_bound(
        rows, std::pair(timeline_.start(row), row), {},
        [this](std::uint32_t other) { return std::pair(timeline_.start(other), other); });
    return place == rows.begin() ? kNoRow : *(place - 1);
  }

  // The row, its parent, and so on to one that waited for nothing or is there already.
  std::uint32_t add_chain(std::uint32_t row) {
    std::uint32_t first = kNoRow;
    std::uint32_t child = kNoRow;
    while (row != kNoRow) {
      const auto [entry, is_new] = positions_.try_emplace(row, forest_.size());
      if (child == kNoRow)
        first = entry->second;
      else
        forest_.nodes_[child].parent = entry->second;
      if (!is_new) break;
      child = entry->second;
      row = add(row);
    }
    return first;
  }

  // Returns the row of its parent.
  std::uint32_t add(std::uint32_t row) {
    PathNode node{.begin = begin(row), .end = finish(row)};
    node.begin = std::min(node.begin, node.end);
    node.name = number_of(timeline_.text(timeline_.label(row)));
    node.phase = number_of(timeline_.text(timeline_.phase(row)));
    node.activity = timeline_.activity(row);
    const std::uint32_t parent = latest_parent(row, node.begin);
    if (parent != kNoRow) add_gaps(row, parent, std::min(finish(parent), node.begin), node.begin);
    node.gaps_end = static_cast<std::uint32_t>(forest_.gaps_.size());
    forest_.nodes_.push_back(node);
    return parent;
  }

  void add_gaps(std::uint32_t row, std::uint32_t parent, Nanoseconds from, Nanoseconds to) {
    if (from >= to) return;
    const bool from_host = timeline_.activity(parent) == Activity::kHost;
    const bool launched = from_host && is_device(timeline_.activity(row));
    // What is left of the ops around the parent, from the innermost outwards.
    std::uint32_t op = from_host && !launched ? timeline_.enclosing(parent) : kNoRow;
    for (int depth = 0; op != kNoRow && from < to && depth < kMaxNesting; ++depth) {
      const Nanoseconds end = std::min(timeline_.inclusive_end(op), to);
      if (end > from) {
        forest_.gaps_.push_back({.from = from,
                                 .to = end,
                                 .activity = Activity::kHost,
                                 .name = number_of(timeline_.text(timeline_.label(op))),
                                 .phase = number_of(timeline_.text(timeline_.phase(op)))});
        from = end;
      }
      op = timeline_.enclosing(op);
    }
    if (from < to)
      forest_.gaps_.push_back(
          {.from = from, .to = to, .name = number_of(launched ? kLaunchDelay : kUntraced)});
  }

  std::uint32_t number_of(std::string_view text) {
    if (text.empty()) return 0;
    const auto [entry, is_new] =
        numbers_.try_emplace(std::string(text), static_cast<std::uint32_t>(forest_.texts_.size()));
    if (is_new) forest_.texts_.emplace_back(text);
    return entry->second;
  }

  PathForest& forest_;
  const Timeline& timeline_;
  Nanoseconds offset_;
  std::vector<std::uint32_t> computations_;                     // by their ends; of runs of ours on CPUs
  std::unordered_map<std::uint32_t, std::uint32_t> positions_;  // by row
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

PathForest::PathForest(const Timeline& timeline, const RankCalls& calls, Nanoseconds clock_offset) {
  PathForestMaker(*this, timeline, clock_offset).run(calls);
}

}  // namespace nadi::inline traces
