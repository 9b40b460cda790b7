#include "nadi/draw/graph_members.h"

#include <utility>

namespace nadi::inline show {

NodeLinkMembers members_of(const GraphNode& node) {
  if (!node.members.empty()) return node.members;
  NodeLinkMembers members;
  const auto add = [&](std::string name, Json value) {
    members.emplace_back(std::move(name), std::move(value));
  };
  add("name", node.name);
  add("type", node.kind == GraphNodeKind::kTensor ? "TENSOR"
              : node.kind == GraphNodeKind::kOp   ? "COMP"
                                                  : "COMM_COLL");
  if (node.is_box) {
    add("box", true);
    add("operations", node.ops);
    add("communications", node.communications);
    add("tensors", node.tensors);
  }
  const auto add_text = [&](std::string name, const std::string& text) {
    if (!text.empty()) add(std::move(name), text);
  };
  const auto add_number = [&](std::string name, const std::optional<std::int64_t>& number) {
    if (number) add(std::move(name), *number);
  };
  add_text("layer", node.layer);
  add_text("part", node.part);
  add_number("bytes", node.bytes);
  add_number("flops", node.flops);
  add_number("communicated_bytes", node.communicated_bytes);
  add_number("duration_ns", node.duration_ns);
  add("rank", node.rank);
  return members;
}

NodeLinkMembers members_of(const GraphEdge& edge) {
  NodeLinkMembers members = edge.members;
  if (find_member(members, "key") == nullptr) members.emplace_back("key", to_string(edge.kind));
  return members;
}

std::string json_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace nadi::inline show
