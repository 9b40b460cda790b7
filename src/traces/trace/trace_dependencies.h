// The dependencies of a trace by row instead of by id, control and data together, and an order in which they
// can be met: what every pass over the graph of a trace starts from.
//
//   const TraceDependencies dependencies(trace);
//   for (std::uint32_t row : dependencies.order())
//     for (std::uint32_t parent : dependencies.parents(row)) ...          // comes before `row` in the order
//
// Takes 8 bytes a node and 4 for each dependency, and 8 more a node while the order is being made; where
// every node already comes after those it waits for, the order is that of the rows. It is for the trace as it
// is now.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nadi/trace/trace_check.h"

namespace nadi::inline traces {

class Trace;

class TraceDependencies {
 public:
  // Error (input) where an id occurs twice, a dependency is on a node that is not there, or nodes wait in a
  // cycle: the message of check_trace().
  explicit TraceDependencies(const Trace& trace, const TraceOrigin& origin = {});

  // What the row waits for: control dependencies, then data dependencies; one that is both is there twice.
  std::span<const std::uint32_t> parents(std::uint32_t row) const {
    return {parents_.data() + begins_[row], begins_[row + 1] - begins_[row]};
  }
  // Every row once, parents first. Of rows that could both be next, the one with the lower number is.
  std::span<const std::uint32_t> order() const { return order_; }

  std::uint64_t edges() const { return parents_.size(); }

 private:
  void put_in_order();

  std::vector<std::uint64_t> begins_;  // by row: its first in parents_; one more at the end
  std::vector<std::uint32_t> parents_;
  std::vector<std::uint32_t> order_;
};

}  // namespace nadi::inline traces
