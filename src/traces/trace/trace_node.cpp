#include "nadi/trace/trace_node.h"

#include <algorithm>

namespace nadi::inline traces {

void TraceNode::clear() {
  id = {};
  name = {};
  type = NodeType::kInvalid;
  ctrl_deps.clear();
  data_deps.clear();
  start = {};
  duration = {};
  inputs = {};
  outputs = {};
  attributes.clear();
}

bool operator==(const TraceNode& a, const TraceNode& b) {
  return a.id == b.id && a.name == b.name && a.type == b.type && a.ctrl_deps == b.ctrl_deps &&
         a.data_deps == b.data_deps && a.start == b.start && a.duration == b.duration &&
         a.inputs == b.inputs && a.outputs == b.outputs && std::ranges::equal(a.attributes, b.attributes);
}

}  // namespace nadi::inline traces
