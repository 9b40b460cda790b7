// The dependency cycles of a trace, all of them, also in traces with repeated ids or missing parents.
// (check_no_cycle() in trace/ stops at the first cycle.)
#pragma once

#include <cstdint>
#include <vector>

namespace nadi::inline traces {

class Trace;
class TraceIndex;

enum class FollowedDependencies : std::uint8_t { kControlAndData, kData };

struct DependencyCycle {
  // Each waits for the next, and the last for the first, which has the lowest row. The shortest circle that
  // goes through one of the first nodes of the knot.
  std::vector<std::uint32_t> rows;
  // Nodes that wait for each other: there may be many circles among them.
  std::uint64_t knot = 0;
};

// One for each set of nodes that wait for each other, by their lowest row. Nodes that wait for themselves
// only are not among them. Linear in nodes and dependencies; takes nothing but a look at each dependency when
// every node comes after those that it waits for.
std::vector<DependencyCycle> find_cycles(const Trace& trace, const TraceIndex& index,
                                         FollowedDependencies followed);

}  // namespace nadi::inline traces
