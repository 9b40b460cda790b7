// Tarjan's strongly connected components over "waits for", with a stack of its own. Each component of two or
// more is a knot. Its circle is found by breadth-first searches from its first rows, back to where they
// started.
#include "nadi/check/dependency_cycles.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>

#include "nadi/trace/trace.h"
#include "nadi/trace/trace_index.h"

namespace nadi::inline traces {
namespace {

// Searches that are made in one knot: the shortest circle often goes through one of its first nodes.
constexpr std::size_t kSearchesPerKnot = 8;
constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

class WaitsFor {
 public:
  WaitsFor(const Trace& trace, const TraceIndex& index, FollowedDependencies followed) {
    begins_.reserve(trace.size() + 1);
    for (std::uint32_t row = 0; row < trace.size(); ++row) {
      begins_.push_back(parents_.size());
      const auto add = [&](TraceNodeId id) {
        const std::optional<std::uint32_t> parent = index.row_of(id);
        if (parent && *parent != row) parents_.push_back(*parent);
      };
      if (followed == FollowedDependencies::kControlAndData) std::ranges::for_each(trace.ctrl_deps(row), add);
      std::ranges::for_each(trace.data_deps(row), add);
    }
    begins_.push_back(parents_.size());
  }

  std::uint32_t rows() const { return static_cast<std::uint32_t>(begins_.size() - 1); }
  std::uint64_t begin(std::uint32_t row) const { return begins_[row]; }
  std::uint64_t end(std::uint32_t row) const { return begins_[row + 1]; }
  std::uint32_t parent(std::uint64_t at) const { return parents_[at]; }

 private:
  std::vector<std::uint64_t> begins_;
  std::vector<std::uint32_t> parents_;
};

bool any_parent_comes_later(const Trace& trace, const TraceIndex& index, FollowedDependencies followed) {
  for (std::uint32_t row = 0; row < trace.size(); ++row) {
    const auto is_later = [&](TraceNodeId id) {
      const std::optional<std::uint32_t> parent = index.row_of(id);
      return parent && *parent > row;
    };
    if (followed == FollowedDependencies::kControlAndData &&
        std::ranges::any_of(trace.ctrl_deps(row), is_later))
      return true;
    if (std::ranges::any_of(trace.data_deps(row), is_later)) return true;
  }
  return false;
}

class KnotSearch {
 public:
  explicit KnotSearch(const WaitsFor& graph)
      : graph_(graph), order_(graph.rows(), kNone), lowest_(graph.rows()), knot_(graph.rows(), kNone) {}

  // Rows of each knot, ascending.
  std::vector<std::vector<std::uint32_t>> run() {
    for (std::uint32_t root = 0; root < graph_.rows(); ++root)
      if (order_[root] == kNone) visit(root);
    return std::move(knots_);
  }

 private:
  struct Visit {
    std::uint32_t row;
    std::uint64_t next;  // dependency to follow next
  };

  void open(std::uint32_t row) {
    order_[row] = lowest_[row] = next_order_++;
    open_.push_back(row);
    visits_.push_back({row, graph_.begin(row)});
  }

  // `knot_` marks rows that are done: with their knot, or, being alone, with themselves.
  void visit(std::uint32_t root) {
    open(root);
    while (!visits_.empty()) {
      Visit& top = visits_.back();
      const std::uint32_t row = top.row;
      if (top.next < graph_.end(row)) {
        const std::uint32_t parent = graph_.parent(top.next++);
        if (order_[parent] == kNone) {
          open(parent);
        } else if (knot_[parent] == kNone) {
          lowest_[row] = std::min(lowest_[row], order_[parent]);
        }
        continue;
      }
      visits_.pop_back();
      if (!visits_.empty()) lowest_[visits_.back().row] = std::min(lowest_[visits_.back().row], lowest_[row]);
      if (lowest_[row] == order_[row]) close(row);
    }
  }

  void close(std::uint32_t root) {
    const auto first = std::find(open_.rbegin(), open_.rend(), root).base() - 1;
    for (auto row = first; row != open_.end(); ++row) knot_[*row] = root;
    if (open_.end() - first > 1) {
      std::ranges::sort(knots_.emplace_back(first, open_.end()));
    }
    open_.erase(first, open_.end());
  }

  const WaitsFor& graph_;
  std::vector<std::uint32_t> order_;   // by row: when it was met first
  std::vector<std::uint32_t> lowest_;  // by row: the earliest open row that it reaches
  std::vector<std::uint32_t> knot_;
  std::vector<std::uint32_t> open_;
  std::vector<Visit> visits_;
  std::vector<std::vector<std::uint32_t>> knots_;
  std::uint32_t next_order_ = 0;
};

// The shortest circle through `start` within its knot, in the order of waiting.
class CircleSearch {
 public:
  explicit CircleSearch(const WaitsFor& graph) : graph_(graph), reached_from_(graph.rows(), kNone) {}

  std::vector<std::uint32_t> through(std::uint32_t start, const std::vector<std::uint32_t>& knot) {
    std::vector<std::uint32_t> circle;
    std::deque<std::uint32_t> queue{start};
    touched_.assign({start});
    while (!queue.empty() && circle.empty()) {
      const std::uint32_t row = queue.front();
      queue.pop_front();
      for (std::uint64_t at = graph_.begin(row); at < graph_.end(row); ++at) {
        const std::uint32_t parent = graph_.parent(at);
        if (parent == start) {
          for (std::uint32_t back = row; back != start; back = reached_from_[back]) circle.push_back(back);
          circle.push_back(start);
          std::ranges::reverse(circle);
          break;
        }
        if (reached_from_[parent] != kNone || !std::ranges::binary_search(knot, parent)) continue;
        reached_from_[parent] = row;
        touched_.push_back(parent);
        queue.push_back(parent);
      }
    }
    for (const std::uint32_t row : touched_) reached_from_[row] = kNone;
    return circle;
  }

 private:
  const WaitsFor& graph_;
  std::vector<std::uint32_t> reached_from_;
  std::vector<std::uint32_t> touched_;
};

}  // namespace

std::vector<DependencyCycle> find_cycles(const Trace& trace, const TraceIndex& index,
                                         FollowedDependencies followed) {
  if (!any_parent_comes_later(trace, index, followed)) return {};
  const WaitsFor graph(trace, index, followed);
  std::vector<std::vector<std::uint32_t>> knots = KnotSearch(graph).run();
  std::ranges::sort(knots, {}, [](const auto& knot) { return knot.front(); });
  CircleSearch search(graph);
  std::vector<DependencyCycle> cycles;
  for (const std::vector<std::uint32_t>& knot : knots) {
    std::vector<std::uint32_t> best;
    for (std::size_t i = 0; i < std::min(knot.size(), kSearchesPerKnot) && best.size() != 2; ++i) {
      std::vector<std::uint32_t> circle = search.through(knot[i], knot);
      if (best.empty() || circle.size() < best.size()) best = std::move(circle);
    }
    std::rotate(best.begin(), std::ranges::min_element(best), best.end());
    cycles.push_back({.rows = std::move(best), .knot = knot.size()});
  }
  return cycles;
}

}  // namespace nadi::inline traces
