// Writes a trace as the node-link JSON that graph libraries read, NetworkX's node_link_graph() among them:
//
//   {"directed": true, "multigraph": true, "graph": {"version": "0.0.4", ...},
//    "nodes": [{"id": 1, "name": "aten::mm", "type": "COMP", "start_ns": 5, "duration_ns": 12000, ...}, ...],
//    "links": [{"source": 0, "target": 1, "key": "data"}, ...]}
//
// A link goes from the node that is waited for to the one that waits; its key is "control" or "data". Members
// of a node, besides those shown: "inputs" and "outputs" (with values, shapes and types as texts), and its
// attributes under their names; an attribute whose name is taken gets "attr_" in front. Times are left out
// where both are zero. Links on nodes that the trace does not have are left out, too, and counted.
#pragma once

#include <cstdint>

#include "nadi/chakra/chakra_writer.h"

namespace nadi::inline traces {

struct NodeLinkCounts {
  std::uint64_t links = 0;
  std::uint64_t left_out = 0;  // links
};

// The sink is called with about 1 MiB at a time, in order.
NodeLinkCounts write_node_link(const Trace& trace, const ByteSink& sink);

}  // namespace nadi::inline traces
