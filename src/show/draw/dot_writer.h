// Writes a graph in Graphviz's language.
//
//   const std::string text = to_dot(view);
//
// Tensors are green ellipses, operations blue boxes, communication red; edges of communication are red,
// others black, dashed where nothing is read. A cluster for each rank of several, each part of the step and
// each layer; a legend with the title above. Nodes are named n0, n1, ... in their order, so no name of a
// trace is more than a label.
#pragma once

#include <string>

#include "nadi/draw/graph_view.h"

namespace nadi::inline show {

struct DotOptions {
  bool legend = true;
  bool layers = true;  // a cluster for each layer
};

std::string to_dot(const GraphView& view, const DotOptions& options = {});

}  // namespace nadi::inline show
