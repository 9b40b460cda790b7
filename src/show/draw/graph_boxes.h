// The boxes into which a page folds a graph: ranks, parts of the step with their passes, layers. A tree.
//
//   const GraphBoxes boxes = boxes_of(view);
//   boxes.all[boxes.of_node[i]].title        // "transformer.h.3"
//
// Boxes come behind the box that they are in. A level that would have one box is left out. Nodes without a
// layer are boxed by their place, some dozens at a time, where they are many. Within the layers of a profile,
// modules are boxes, too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nadi/draw/graph_view.h"

namespace nadi::inline show {

inline constexpr std::uint32_t kNoBox = 0xFFFF'FFFF;

struct GraphBox {
  std::string title;
  std::uint32_t parent = kNoBox;
  bool is_layer = false;  // or a module that is no layer, outside of layers
};

struct GraphBoxes {
  std::vector<GraphBox> all = {};
  std::vector<std::uint32_t> of_node = {};  // kNoBox: in none
};

GraphBoxes boxes_of(const GraphView& view);

}  // namespace nadi::inline show
