#include "nadi/draw/node_link_output.h"

#include <string>

#include "nadi/chakra/json_output.h"
#include "nadi/draw/graph_members.h"

namespace nadi::inline show {
namespace {

void append_members(std::string& out, const NodeLinkMembers& members) {
  for (const auto& [name, value] : members) {
    out += ", ";
    append_json_text(out, name);
    out += ": ";
    out += json_text(value);
  }
}

}  // namespace

void write_graph_node_link(const GraphView& view, std::string_view edges_key, const ByteSink& sink) {
  std::string out = "{\"directed\": true, \"multigraph\": true, \"graph\": " + json_text(view.facts);
  out += ",\n\"nodes\": [";
  const char* separator = "\n";
  const auto begin = [&](std::string_view name, const Json& value) {
    if (out.size() >= kJsonPart) {
      sink(out);
      out.clear();
    }
    out += separator;
    separator = ",\n";
    out += '{';
    append_json_text(out, name);
    out += ": " + json_text(value);
  };
  for (const GraphNode& node : view.nodes) {
    begin("id", node.id);
    append_members(out, members_of(node));
    out += '}';
  }
  out += "\n],\n";
  append_json_text(out, edges_key);
  out += ": [";
  separator = "\n";
  for (const GraphEdge& edge : view.edges) {
    begin("source", view.nodes[edge.from].id);
    out += ", \"target\": " + json_text(view.nodes[edge.to].id);
    append_members(out, members_of(edge));
    out += '}';
  }
  out += "\n]}\n";
  sink(out);
}

}  // namespace nadi::inline show
