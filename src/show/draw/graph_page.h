// A graph as a page to look around in: boxes that open and close, search, details. It opens with layers as
// boxes and lays out what is open by itself, so that graphs of 100,000 nodes open at once.
//
//   write_graph_page(view, "graph.html", Overwrite::kRefuse);
//
// The page holds, compressed: texts, nodes and edges as columns of numbers, and the boxes (graph_boxes.h).
// Names of more than some hundred characters are shortened.
#pragma once

#include <filesystem>

#include "nadi/base/atomic_file.h"
#include "nadi/draw/graph_view.h"

namespace nadi::inline show {

// Errors: those of AtomicFile.
void write_graph_page(const GraphView& view, const std::filesystem::path& path, Overwrite overwrite);

}  // namespace nadi::inline show
