// One node of a trace, as it is handed from a source of nodes (a step program, a reader, a Trace) to a
// taker of nodes (a writer, a Trace). The same object is cleared and filled again for every node, and then
// costs no allocation:
//
//   TraceNode node;
//   for (...) {
//     node.clear();
//     node.id = TraceNodeId{17};
//     node.name = node.keep(format("{}.{}", layer, op));  // or a text that outlives the node
//     node.type = NodeType::kComp;
//     node.data_deps.push_back(TraceNodeId{16});
//     add_num_ops(node, flops);                            // common_attributes.h
//     writer.write(node);
//   }
//
// Texts are borrowed. A node filled by a reader is valid until the reader's next call, one filled by a
// Trace until the trace changes or goes. Not copyable; moving keeps what keep() returned valid.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/trace/node_type.h"
#include "nadi/trace/trace_attribute.h"

namespace nadi::inline traces {

// The number a node has in its file; any 64-bit number, unique within a rank's trace.
enum class TraceNodeId : std::uint64_t {};
constexpr std::uint64_t to_number(TraceNodeId id) {
  return static_cast<std::uint64_t>(id);
}

// Tensors that go into or come out of a node, as the texts PyTorch writes: "[[4, 5, 0, 64, 4, 'cuda:0']]",
// "[[64]]", "['Tensor(float)']". Three empty texts are the same as no tensors.
struct IoInfo {
  std::string_view values;
  std::string_view shapes;
  std::string_view types;

  bool empty() const { return values.empty() && shapes.empty() && types.empty(); }
  friend bool operator==(const IoInfo&, const IoInfo&) = default;
};

struct TraceNode {
  TraceNodeId id{};
  std::string_view name;
  NodeType type = NodeType::kInvalid;
  std::vector<TraceNodeId> ctrl_deps;
  std::vector<TraceNodeId> data_deps;
  Nanoseconds start;     // 0 when not known
  Nanoseconds duration;  // 0 when not known
  IoInfo inputs;
  IoInfo outputs;
  TraceAttributes attributes;

  // Copies a text into the node's own memory, where it stays until clear().
  std::string_view keep(std::string_view text) { return attributes.arena().keep(text); }

  // Back to a fresh node; the memory is kept.
  void clear();

  // Same content in every field, attributes and dependencies in the same order.
  friend bool operator==(const TraceNode& a, const TraceNode& b);
};

// What a file says about itself, before its first node.
struct GlobalMetadata {
  std::string version = "0.0.4";  // of the schema: the one we write; "" in files of some converters
  TraceAttributes attributes;
};

}  // namespace nadi::inline traces
