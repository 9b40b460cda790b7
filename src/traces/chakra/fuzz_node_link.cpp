// Fuzz target of graphs in node-link form (scripts/fuzz.sh).
//
// Any text must give either a graph, whose links end at its nodes, or an Error (input) that names a byte.
// Passing over damage must give as much where there is none.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/chakra/node_link_graph.h"

namespace nadi::inline traces {
namespace {

std::optional<NodeLinkGraph> read(std::string_view json, JsonDamage damage) {
  try {
    NodeLinkGraph graph = read_node_link(json, "fuzz", {.memory = MemoryLimit(64_MiB), .damage = damage});
    for (const NodeLinkLink& link : graph.links)
      check(link.source < graph.nodes.size() && link.target < graph.nodes.size(), "a link ends at no node");
    for (const NodeLinkNode& node : graph.nodes) {
      (void)kind_of(node);
      (void)name_of(node);
      (void)tensor_of(node);
    }
    return graph;
  } catch (const Error& error) {
    const bool too_much = error.kind() == ErrorKind::kEnvironment;
    check(error.kind() == ErrorKind::kInput || too_much, "bad input gave another error than an input error");
    check(too_much || error.place().file == "fuzz", "an error does not name its file");
    return std::nullopt;
  }
}

void read_anything(std::string_view json) {
  const std::optional<NodeLinkGraph> strict = read(json, JsonDamage::kRefuse);
  const std::optional<NodeLinkGraph> lenient = read(json, JsonDamage::kSkip);
  if (!strict) return;
  check(lenient.has_value(), "a whole file was refused where damage is passed over");
  check(lenient->nodes.size() == strict->nodes.size() && lenient->links.size() == strict->links.size(),
        "a lenient eye sees another graph where nothing is damaged");
}

}  // namespace
}  // namespace nadi::inline traces

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nadi::read_anything({reinterpret_cast<const char*>(data), size});
  return 0;
}
