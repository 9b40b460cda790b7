// Writes a graph as GraphML, with a declared type for each attribute: NetworkX's read_graphml(), Gephi, yEd.
//
//   write_graphml(view, [&](std::string_view part) { file.write(part); });
//
// GraphML has numbers, truth values and texts: an attribute that is a list or an object becomes a text in
// JSON, one whose values are of several types a text, nothing at all where it is null. Characters that XML
// does not have are written visibly ("\x1b").
#pragma once

#include <string_view>

#include "nadi/chakra/chakra_writer.h"
#include "nadi/draw/graph_view.h"

namespace nadi::inline show {

// The sink is called with about 1 MiB at a time, in order.
void write_graphml(const GraphView& view, const ByteSink& sink);

}  // namespace nadi::inline show
