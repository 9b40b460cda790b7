// An order of the nodes of a trace in which each comes after all that it waits for, as close to the order of
// time as that allows.
//
// What a profile says can contradict itself: clocks of host and device differ, ids repeat, and what is told
// by times is a guess. Where nodes would wait for one another in a circle, one dependency of the circle
// yields:
//   1. one that is told by times; of several, the one that the recorded times contradict most;
//   2. otherwise one that is told by ids (launches, recorded waits, callers in the host's trace), likewise.
// The order within a thread and within a stream never yields, and no circle consists of that alone. What a
// call or a gap lasts is put right when it no longer waits. A circle of callers in the host's trace is
// damage.
#pragma once

#include <cstdint>
#include <vector>

#include "nadi/convert/conversion_report.h"
#include "nadi/convert/link_graph.h"

namespace nadi::inline traces {

struct HostTrace;

// Error (input) where ops of the host's trace call each other in a circle. Depth-first search with its own
// stack, of any depth: linear time, and for each dependency that yields the length of its circle. `host` may
// be nullptr; the graph's waits must be sorted, and stay so.
std::vector<std::uint32_t> order_nodes(const KinetoTrace& kineto, const HostTrace* host, LinkGraph& graph,
                                       ConversionReport& report);

}  // namespace nadi::inline traces
