// What files say about a node or an edge: what its trace said, and of boxes their sums.
#pragma once

#include "nadi/draw/graph_view.h"

namespace nadi::inline show {

// Members of a node without any, a box for instance, follow from its fields.
NodeLinkMembers members_of(const GraphNode& node);
// With "key", which tells edges between the same two nodes apart.
NodeLinkMembers members_of(const GraphEdge& edge);

// A value as a text in JSON, on one line; bytes that are not UTF-8 become U+FFFD.
std::string json_text(const Json& value);

}  // namespace nadi::inline show
