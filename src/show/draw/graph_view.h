// What `nadi draw` draws: tensors, operations and communication of one or several ranks, and the edges
// between them. Made from traces (graph_from_trace.h) or from a graph in node-link form
// (graph_from_node_link.h), cut and collapsed (graph_cut.h, collapse.h), then written: dot_writer.h,
// graphml_writer.h, node_link_output.h, graph_page.h.
//
// Edges go from what is made or waited for to what reads or waits. Everything is by position in `nodes`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nadi/chakra/node_link_graph.h"

namespace nadi::inline show {

enum class GraphNodeKind : std::uint8_t { kTensor, kOp, kCommunication };
std::string_view to_string(GraphNodeKind kind);  // "tensor", "operation", "communication"

struct GraphNode {
  GraphNodeKind kind = GraphNodeKind::kOp;
  Json id;            // unique: a number or a text
  std::string name;   // as the trace has it, whatever that is
  std::string what;   // "matmul", "all_reduce"; of a tensor its data type
  std::string layer;  // "transformer.h.3.attn"; "" where the trace does not say
  std::string part;   // of the step: "forward", "backward", "optimizer", "prefill", "decode"; ""
  std::string shape;  // of a tensor: "1×128×768"
  std::int64_t rank = 0;
  // Micro-batches, decode steps and training steps do the same again: which time it is, from 0.
  std::int64_t pass = 0;
  // Size of a tensor, what an op reads and writes, what communication sends.
  std::optional<std::int64_t> bytes = {};
  std::optional<std::int64_t> flops = {};
  std::optional<std::int64_t> duration_ns = {};
  // A box that stands for several: what it holds.
  bool is_box = false;
  std::uint64_t ops = 0, communications = 0, tensors = 0;
  std::optional<std::int64_t> communicated_bytes = {};

  NodeLinkMembers members = {};  // all that files say about it, but for its id; empty where not asked for
};

enum class GraphEdgeKind : std::uint8_t {
  kData,           // made and read, through a tensor or directly
  kControl,        // waits for it, and reads nothing of it
  kCommunication,  // between ranks: a message from its sender to its receiver, members of a collective
};
std::string_view to_string(GraphEdgeKind kind);  // "data", "control", "communication"

struct GraphEdge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  GraphEdgeKind kind = GraphEdgeKind::kData;
  NodeLinkMembers members = {};  // of a graph that was read
};

struct GraphView {
  std::string title;                     // what the picture is of
  Json facts = Json::object();           // about the whole: the metadata of the first rank
  std::vector<std::int64_t> ranks = {};  // ascending
  std::vector<GraphNode> nodes = {};
  std::vector<GraphEdge> edges = {};
  std::uint64_t without_tensors = 0;  // ops of which the trace lists no tensors

  std::uint64_t count(GraphNodeKind kind) const;
};

// a + b, or the largest number.
std::optional<std::int64_t> add_known(const std::optional<std::int64_t>& a,
                                      const std::optional<std::int64_t>& b);

// The view with only the nodes for which `keep` is true, and the edges between them.
GraphView kept(GraphView view, const std::vector<bool>& keep);

}  // namespace nadi::inline show
