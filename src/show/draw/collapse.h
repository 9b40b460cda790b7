// Makes a large graph small: boxes that stand for many ops, and cuts.
//
//   view = kept_layers(std::move(view), layers);               // --layers 0-1
//   view = first_passes(std::move(view));                      // one decode step, one micro-batch
//   view = collapsed(std::move(view), CollapseTo::kLayer);     // --collapse layer
//
// A box has the sums of its ops. Tensors within a box, and those that only one box reads and nobody writes,
// are counted and gone; those that go from one box to the same others become one node.
#pragma once

#include <cstdint>
#include <set>

#include "nadi/base/number_ranges.h"
#include "nadi/draw/graph_view.h"

namespace nadi::inline show {

enum class CollapseTo : std::uint8_t {
  kBlock,                 // attn, mlp ... of each layer
  kLayer,                 // each layer
  kOutline,               // the first layer in full, and all others of a part of the step as one box
  kCommunication,         // only what is between two communications of a rank as a box, without tensors
  kCommunicationOutline,  // the same, and all but the first layer of a part as one box
};

GraphView collapsed(GraphView view, CollapseTo to);

// Only the layers with these numbers, with the tensors that they read and write.
GraphView kept_layers(GraphView view, const NumberRanges& layers);
// Numbers of layers that the graph has.
std::set<std::int64_t> layers_of(const GraphView& view);

// Keeps the first one of micro-batches, decode steps and training steps that do the same.
GraphView first_passes(GraphView view);

// Ops and communication alone: who read a tensor is joined to who wrote it.
GraphView without_tensors(GraphView view);

// Without the tensors that an op makes beside others and nobody reads: saved statistics, mostly.
GraphView without_unread(GraphView view);

}  // namespace nadi::inline show
