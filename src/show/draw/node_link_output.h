// Writes a graph in node-link form: the format of chakra/node_link_writer.h with tensors among the nodes,
// which read_node_link() and NetworkX's node_link_graph() read.
//
// Tensors have the type "TENSOR", a shape (a list), a dtype and bytes. Of several ranks, ids are texts and
// each node has its `rank`, each op its `node_id` in the rank's trace.
#pragma once

#include <string_view>

#include "nadi/chakra/chakra_writer.h"
#include "nadi/draw/graph_view.h"

namespace nadi::inline show {

// `edges_key` is what the list of edges is called: "edges" (NetworkX from 3.4 on) or "links". The sink is
// called with about 1 MiB at a time, in order.
void write_graph_node_link(const GraphView& view, std::string_view edges_key, const ByteSink& sink);

}  // namespace nadi::inline show
