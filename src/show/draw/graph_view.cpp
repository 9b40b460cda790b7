#include "nadi/draw/graph_view.h"

#include <algorithm>
#include <limits>

#include "nadi/base/error.h"

namespace nadi::inline show {

std::string_view to_string(GraphNodeKind kind) {
  switch (kind) {
    case GraphNodeKind::kTensor:
      return "tensor";
    case GraphNodeKind::kOp:
      return "operation";
    case GraphNodeKind::kCommunication:
      return "communication";
  }
  unreachable();
}

std::string_view to_string(GraphEdgeKind kind) {
  switch (kind) {
    case GraphEdgeKind::kData:
      return "data";
    case GraphEdgeKind::kControl:
      return "control";
    case GraphEdgeKind::kCommunication:
      return "communication";
  }
  unreachable();
}

std::uint64_t GraphView::count(GraphNodeKind kind) const {
  return static_cast<std::uint64_t>(std::ranges::count(nodes, kind, &GraphNode::kind));
}

std::optional<std::int64_t> add_known(const std::optional<std::int64_t>& a,
                                      const std::optional<std::int64_t>& b) {
  if (!a || !b) return a ? a : b;
  std::int64_t sum = 0;
  return __builtin_add_overflow(*a, *b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

GraphView kept(GraphView view, const std::vector<bool>& keep) {
  std::vector<std::uint32_t> place(view.nodes.size());
  std::uint32_t next = 0;
  for (std::uint32_t i = 0; i < view.nodes.size(); ++i) {
    place[i] = next;
    if (!keep[i]) continue;
    if (next != i) view.nodes[next] = std::move(view.nodes[i]);
    ++next;
  }
  view.nodes.resize(next);
  std::erase_if(view.edges, [&](const GraphEdge& edge) { return !keep[edge.from] || !keep[edge.to]; });
  for (GraphEdge& edge : view.edges) {
    edge.from = place[edge.from];
    edge.to = place[edge.to];
  }
  return view;
}

}  // namespace nadi::inline show
