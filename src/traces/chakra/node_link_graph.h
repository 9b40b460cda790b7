// A graph in node-link form, as NetworkX's node_link_data() and this program write it (node_link_writer.h),
// in memory with all that its file says:
//
//   const NodeLinkGraph graph = read_node_link("tensor_trace_graph.json");
//   for (const NodeLinkNode& node : graph.nodes)
//     if (kind_of(node) == NodeLinkKind::kTensor) use(text_member(node, "name"), tensor_of(node).bytes);
//
// Taken are "links" and "edges" (NetworkX from 3.4 on), ids of any scalar type, nodes without ids (their
// place is the id), and links by place, as NetworkX 1 wrote them. For our own sources: it needs the JSON
// library's headers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/base/json.h"
#include "nadi/base/memory_limit.h"
#include "nadi/input/json_damage.h"

namespace nadi::inline traces {

using NodeLinkMembers = std::vector<std::pair<std::string, Json>>;  // in the order of the file, no name twice

struct NodeLinkNode {
  Json id;  // a number, a text, a truth value; unique
  NodeLinkMembers members = {};
  std::uint64_t byte = 0;  // where its record begins
};

struct NodeLinkLink {
  std::uint32_t source = 0;  // positions in NodeLinkGraph::nodes
  std::uint32_t target = 0;
  NodeLinkMembers members = {};  // "key" among them, where the graph has one
};

struct NodeLinkGraph {
  std::string file;
  Json graph = Json::object();  // what the file says about the whole
  std::vector<NodeLinkNode> nodes = {};
  std::vector<NodeLinkLink> links = {};
  JsonRecordCounts counts = {};
};

struct NodeLinkReadOptions {
  MemoryLimit memory = {};                  // for nodes and links
  JsonDamage damage = JsonDamage::kRefuse;  // kSkip leaves out damaged records, and links on missing nodes
  std::function<void(std::uint64_t bytes)> progress = {};  // called now and then with what was read so far
};

// Error (input) with the byte: for damage, two nodes of one id, a link on a node that is not there, a graph
// that is not directed.
NodeLinkGraph read_node_link(const std::filesystem::path& path, const NodeLinkReadOptions& options = {});
NodeLinkGraph read_node_link(std::string_view json, std::string name,
                             const NodeLinkReadOptions& options = {});

// The member of that name, or nullptr; and its value, if it has that type.
const Json* find_member(const NodeLinkMembers& members, std::string_view name);
std::string text_member(const NodeLinkMembers& members, std::string_view name);  // "" without
std::optional<std::int64_t> integer_member(const NodeLinkMembers& members, std::string_view name);

// What a node stands for. Our files say it in `type`; of foreign ones `type`, `kind`, `node_type`, `category`
// and the colour that other tools give tensors, ops and communication are asked, then the name.
enum class NodeLinkKind : std::uint8_t { kTensor, kOp, kCommunication };
NodeLinkKind kind_of(const NodeLinkNode& node);

// What is known about a tensor, from the members that tools use for it: `shape` (a list, or a text such as
// "(1, 128)"), `dtype`, `bytes`, else shape times the size of an element.
struct NodeLinkTensor {
  std::string name = {};
  std::vector<std::int64_t> shape = {};
  bool has_shape = false;
  std::string dtype = {};
  std::optional<std::int64_t> bytes = {};
};
NodeLinkTensor tensor_of(const NodeLinkNode& node);

// "name", else "label", else "op", else the id as a text.
std::string name_of(const NodeLinkNode& node);

}  // namespace nadi::inline traces
