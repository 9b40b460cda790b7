#include "nadi/trace/trace_dependencies.h"

#include <functional>
#include <numeric>
#include <queue>

#include "nadi/base/error.h"
#include "nadi/trace/trace.h"
#include "nadi/trace/trace_index.h"

namespace nadi::inline traces {

TraceDependencies::TraceDependencies(const Trace& trace, const TraceOrigin& origin) {
  const TraceIndex index(trace);
  check_unique_ids(trace, index, origin);
  check_parents_exist(trace, index, origin);
  check_no_cycle(trace, index, origin);
  std::uint64_t edges = 0;
  for (std::size_t row = 0; row < trace.size(); ++row)
    edges += trace.ctrl_deps(row).size() + trace.data_deps(row).size();
  begins_.reserve(trace.size() + 1);
  parents_.reserve(edges);
  bool in_order = true;
  for (std::uint32_t row = 0; row < trace.size(); ++row) {
    begins_.push_back(parents_.size());
    for (const auto dependencies : {trace.ctrl_deps(row), trace.data_deps(row)}) {
      for (const TraceNodeId id : dependencies) {
        const std::uint32_t parent = *index.row_of(id);
        in_order = in_order && parent < row;
        parents_.push_back(parent);
      }
    }
  }
  begins_.push_back(parents_.size());
  order_.resize(trace.size());
  std::iota(order_.begin(), order_.end(), 0U);
  if (!in_order) put_in_order();
}

// Kahn's algorithm with a heap, so that the order does not depend on how rows came to be free.
void TraceDependencies::put_in_order() {
  const auto rows = static_cast<std::uint32_t>(order_.size());
  std::vector<std::uint64_t> child_begins(rows + 1);
  for (const std::uint32_t parent : parents_) ++child_begins[parent + 1];
  std::partial_sum(child_begins.begin(), child_begins.end(), child_begins.begin());
  std::vector<std::uint32_t> children(parents_.size());
  std::vector<std::uint64_t> next = child_begins;
  std::vector<std::uint32_t> waiting_for(rows);
  for (std::uint32_t row = 0; row < rows; ++row) {
    waiting_for[row] = static_cast<std::uint32_t>(begins_[row + 1] - begins_[row]);
    for (const std::uint32_t parent : parents(row)) children[next[parent]++] = row;
  }
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free_rows;
  for (std::uint32_t row = 0; row < rows; ++row)
    if (waiting_for[row] == 0) free_rows.push(row);
  std::size_t placed = 0;
  while (!free_rows.empty()) {
    const std::uint32_t row = free_rows.top();
    free_rows.pop();
    order_[placed++] = row;
    for (std::uint64_t at = child_begins[row]; at < child_begins[row + 1]; ++at)
      if (--waiting_for[children[at]] == 0) free_rows.push(children[at]);
  }
  check(placed == rows, "a trace without cycles has a topological order");
}

}  // namespace nadi::inline traces
