// The graph of a file in node-link form, node by node and link by link, with all that it says.
//
//   const GraphView view = graph_from_node_link(read_node_link(path));
#pragma once

#include "nadi/draw/graph_view.h"

namespace nadi::inline show {

GraphView graph_from_node_link(NodeLinkGraph graph);

// Whether any node is a tensor. Where none is, what the ops list of their tensors makes a better graph: that
// of the trace which the file is (chakra/node_link_trace.h).
bool has_tensors(const NodeLinkGraph& graph);

}  // namespace nadi::inline show
