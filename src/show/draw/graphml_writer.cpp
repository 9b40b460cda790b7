#include "nadi/draw/graphml_writer.h"

#include <cstdint>
#include <limits>
#include <unordered_map>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/chakra/json_output.h"
#include "nadi/draw/drawn_text.h"
#include "nadi/draw/graph_members.h"
#include "nadi/draw/markup_letter.h"

namespace nadi::inline show {
namespace {

enum class ColumnType : std::uint8_t { kUnknown, kBoolean, kLong, kDouble, kString };

std::string_view graphml_type(ColumnType type) {
  switch (type) {
    case ColumnType::kBoolean:
      return "boolean";
    case ColumnType::kLong:
      return "long";
    case ColumnType::kDouble:
      return "double";
    case ColumnType::kUnknown:
    case ColumnType::kString:
      return "string";
  }
  unreachable();
}

ColumnType type_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::boolean:
      return ColumnType::kBoolean;
    case Json::value_t::number_integer:
      return ColumnType::kLong;
    case Json::value_t::number_unsigned:  // a GraphML long is signed
      return value.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()}
                 ? ColumnType::kLong
                 : ColumnType::kString;
    case Json::value_t::number_float:
      return ColumnType::kDouble;
    case Json::value_t::null:
      return ColumnType::kUnknown;
    default:
      return ColumnType::kString;
  }
}

ColumnType both(ColumnType a, ColumnType b) {
  if (a == b || b == ColumnType::kUnknown) return a;
  if (a == ColumnType::kUnknown) return b;
  const bool numbers = (a == ColumnType::kLong || a == ColumnType::kDouble) &&
                       (b == ColumnType::kLong || b == ColumnType::kDouble);
  return numbers ? ColumnType::kDouble : ColumnType::kString;
}

void append_xml(std::string& out, std::string_view text) {
  for (const char c : visible_text(text)) append_markup_letter(out, c);
}

// The attributes of nodes, of edges, or of the graph.
class Columns {
 public:
  explicit Columns(std::string_view prefix) : prefix_(prefix) {}

  void see(const NodeLinkMembers& members) {
    for (const auto& [name, value] : members) {
      const auto [column, is_new] = numbers_.emplace(name, types_.size());
      if (is_new) {
        names_.push_back(name);
        types_.push_back(ColumnType::kUnknown);
      }
      types_[column->second] = both(types_[column->second], type_of(value));
    }
  }

  void declare(std::string& out, std::string_view of) const {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      out += format("  <key id=\"{}{}\" for=\"{}\" attr.name=\"", prefix_, i, of);
      append_xml(out, names_[i]);
      out += format("\" attr.type=\"{}\"/>\n", graphml_type(types_[i]));
    }
  }

  void put(std::string& out, const NodeLinkMembers& members) const {
    for (const auto& [name, value] : members) {
      if (value.is_null()) continue;
      const std::size_t column = numbers_.at(name);
      out += format("<data key=\"{}{}\">", prefix_, column);
      if (value.is_string())
        append_xml(out, value.get_ref<const std::string&>());
      else
        append_xml(out, json_text(value));
      out += "</data>";
    }
  }

 private:
  std::string_view prefix_;
  std::unordered_map<std::string, std::size_t> numbers_;
  std::vector<std::string> names_;
  std::vector<ColumnType> types_;
};

void append_id(std::string& out, const Json& id) {
  append_xml(out, id.is_string() ? id.get<std::string>() : json_text(id));
}

}  // namespace

void write_graphml(const GraphView& view, const ByteSink& sink) {
  Columns of_graph("g"), of_nodes("n"), of_edges("e");
  NodeLinkMembers facts;
  for (const auto& [name, value] : view.facts.items()) facts.emplace_back(name, value);
  of_graph.see(facts);
  for (const GraphNode& node : view.nodes) of_nodes.see(members_of(node));
  for (const GraphEdge& edge : view.edges) of_edges.see(members_of(edge));
  std::string out =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml "
      "xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n";
  of_graph.declare(out, "graph");
  of_nodes.declare(out, "node");
  of_edges.declare(out, "edge");
  out += "  <graph id=\"nadi\" edgedefault=\"directed\">\n    ";
  of_graph.put(out, facts);
  out += '\n';
  const auto flush = [&](bool always) {
    if (!always && out.size() < kJsonPart) return;
    sink(out);
    out.clear();
  };
  for (const GraphNode& node : view.nodes) {
    out += "    <node id=\"";
    append_id(out, node.id);
    out += "\">";
    of_nodes.put(out, members_of(node));
    out += "</node>\n";
    flush(false);
  }
  for (const GraphEdge& edge : view.edges) {
    out += "    <edge source=\"";
    append_id(out, view.nodes[edge.from].id);
    out += "\" target=\"";
    append_id(out, view.nodes[edge.to].id);
    out += "\">";
    of_edges.put(out, members_of(edge));
    out += "</edge>\n";
    flush(false);
  }
  out += "  </graph>\n</graphml>\n";
  flush(true);
}

}  // namespace nadi::inline show
