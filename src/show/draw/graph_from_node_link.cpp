#include "nadi/draw/graph_from_node_link.h"

#include <algorithm>
#include <map>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline show {
namespace {

GraphNodeKind drawn_as(NodeLinkKind kind) {
  switch (kind) {
    case NodeLinkKind::kTensor:
      return GraphNodeKind::kTensor;
    case NodeLinkKind::kOp:
      return GraphNodeKind::kOp;
    case NodeLinkKind::kCommunication:
      return GraphNodeKind::kCommunication;
  }
  unreachable();
}

std::string first_text(const NodeLinkMembers& members, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (std::string text = text_member(members, name); !text.empty()) return text;
  return "";
}

std::optional<std::int64_t> first_integer(const NodeLinkMembers& members,
                                          std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (const auto number = integer_member(members, name); number && *number >= 0) return number;
  return std::nullopt;
}

}  // namespace

GraphView graph_from_node_link(NodeLinkGraph graph) {
  GraphView view;
  view.facts = std::move(graph.graph);
  const auto whole = view.facts.find("rank");
  const std::int64_t rank =
      whole != view.facts.end() && whole->is_number_integer() ? whole->get<std::int64_t>() : 0;
  std::map<std::string, std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t>> passes;
  for (NodeLinkNode& from : graph.nodes) {
    GraphNode node;
    node.kind = drawn_as(kind_of(from));
    node.name = name_of(from);
    node.rank = integer_member(from.members, "rank").value_or(rank);
    node.layer = first_text(from.members, {"layer", "module", "module_name"});
    const std::string section = text_member(from.members, "section");
    node.part = section == "prefill" || section == "decode" ? section : text_member(from.members, "phase");
    if (node.kind == GraphNodeKind::kTensor) {
      const NodeLinkTensor tensor = tensor_of(from);
      node.what = tensor.dtype;
      node.bytes = tensor.bytes;
      if (tensor.has_shape) node.shape = format("{}", fmt::join(tensor.shape, "×"));
    } else {
      const auto key = std::pair(integer_member(from.members, "step").value_or(0),
                                 integer_member(from.members, "micro_batch").value_or(0));
      auto& known = passes[format("{}:{}", node.rank, node.part)];
      node.pass = known.emplace(key, static_cast<std::int64_t>(known.size())).first->second;
      node.what = first_text(from.members, {"op", "op_type"});
      node.bytes = first_integer(from.members, {"comm_size", "tensor_size", "bytes", "size_bytes"});
      node.flops = first_integer(from.members, {"num_ops", "flops"});
      node.duration_ns = first_integer(from.members, {"duration_ns"});
    }
    view.ranks.push_back(node.rank);
    node.id = std::move(from.id);
    node.members = std::move(from.members);
    view.nodes.push_back(std::move(node));
  }
  std::ranges::sort(view.ranks);
  view.ranks.erase(std::unique(view.ranks.begin(), view.ranks.end()), view.ranks.end());
  for (NodeLinkLink& link : graph.links) {
    const std::string key = text_member(link.members, "key");
    GraphEdgeKind kind = GraphEdgeKind::kData;
    if (key == "control") kind = GraphEdgeKind::kControl;
    if (key == "communication" || view.nodes[link.source].rank != view.nodes[link.target].rank)
      kind = GraphEdgeKind::kCommunication;
    view.edges.push_back(
        {.from = link.source, .to = link.target, .kind = kind, .members = std::move(link.members)});
  }
  // A tensor is of the pass of who made it, or of its first reader.
  std::vector<std::uint32_t> of(view.nodes.size(), ~0u);
  for (const GraphEdge& edge : view.edges) {
    if (view.nodes[edge.to].kind == GraphNodeKind::kTensor) of[edge.to] = edge.from;
    if (view.nodes[edge.from].kind == GraphNodeKind::kTensor && of[edge.from] == ~0u) of[edge.from] = edge.to;
  }
  for (std::uint32_t i = 0; i < view.nodes.size(); ++i) {
    GraphNode& node = view.nodes[i];
    if (node.kind != GraphNodeKind::kTensor || of[i] == ~0u) continue;
    const GraphNode& by = view.nodes[of[i]];
    node.pass = by.pass;
    if (node.part.empty()) node.part = by.part;
    if (node.layer.empty()) node.layer = by.layer;
  }
  return view;
}

bool has_tensors(const NodeLinkGraph& graph) {
  return std::ranges::any_of(graph.nodes,
                             [](const NodeLinkNode& node) { return kind_of(node) == NodeLinkKind::kTensor; });
}

}  // namespace nadi::inline show
