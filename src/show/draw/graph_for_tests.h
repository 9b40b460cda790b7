// A small trace with everything that drawings show: an op, a collective, tensors, a view, a parameter.
#pragma once

#include "nadi/trace/common_attributes.h"
#include "nadi/trace/trace.h"

namespace nadi::inline show {

// Layer 0: x and w -> matmul -> y -> all_reduce -> z; then layer 1: add reads z through a view.
inline Trace small_trace() {
  Trace trace;
  TraceNode node;
  const auto begin = [&](std::uint64_t id, std::string_view name, NodeType type, std::string_view op,
                         std::string_view layer) {
    node.clear();
    node.id = TraceNodeId{id};
    node.name = name;
    node.type = type;
    node.attributes.add_text("op", op);
    node.attributes.add_text("layer", layer);
    node.attributes.add_text("phase", "forward");
  };
  begin(0, "m.h.0.fc.matmul", NodeType::kComp, "matmul", "m.h.0.fc");
  node.inputs = {R"([["x", 24], ["m.h.0.fc.weight", 48]])", "[[2, 3], [3, 4]]", R"(["f32", "f32"])"};
  node.outputs = {R"([["y", 32], ["y:1", 8]])", "[[2, 4], [2]]", R"(["f32", "f32"])"};
  add_work(node, Flops{48}, Bytes{104});
  trace.add(node);
  begin(1, "m.h.0.fc.all_reduce", NodeType::kCommColl, "all_reduce", "m.h.0.fc");
  node.inputs = {R"([["y", 32]])", "[[2, 4]]", R"(["f32"])"};
  node.outputs = {R"([["z", 32]])", "[[2, 4]]", R"(["f32"])"};
  add_comm_type(node, CollectiveType::kAllReduce);
  add_comm_size(node, Bytes{32});
  add_process_group(node, 1);
  node.data_deps = {TraceNodeId{0}};
  trace.add(node);
  begin(2, "m.h.1.add", NodeType::kComp, "add", "m.h.1");
  node.inputs = {R"([["z.reshape", 32], ["m.h.1.bias", 16]])", "[[8], [4]]", R"(["f32", "f32"])"};
  node.outputs = {R"([["out", 32]])", "[[2, 4]]", R"(["f32"])"};
  add_work(node, Flops{8}, Bytes{80});
  node.data_deps = {TraceNodeId{1}};
  trace.add(node);
  return trace;
}

}  // namespace nadi::inline show
