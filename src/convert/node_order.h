// An order of the nodes of a trace in which each comes after all that it waits for, as close to the order of
// time as that allows.
#pragma once

#include <cstdint>
#include <vector>

#include "nadi/convert/link_graph.h"

namespace nadi {

struct HostTrace;

// Nodes that wait for one another in a circle are Error (input) that names them. Depth-first search with its
// own stack: linear time, any depth. `host` may be nullptr; the graph's waits must be sorted.
std::vector<std::uint32_t> order_nodes(const LinkGraph& graph, const KinetoTrace& kineto,
                                       const HostTrace* host);

}  // namespace nadi
