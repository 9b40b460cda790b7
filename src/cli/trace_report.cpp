#include "nadi/cli/trace_report.h"

#include <algorithm>
#include <ostream>

#include "nadi/base/format.h"
#include "nadi/base/version.h"
#include "nadi/chakra/trace_summary.h"
#include "nadi/report/text_table.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/printable.h"
#include "nadi/terminal/wrap.h"

namespace nadi {
namespace {

constexpr std::size_t kTextColumn = 17;
constexpr std::size_t kShownGroups = 20;

Json number_json(const TraceAttribute& attribute) {
  if (attribute.kind == TraceAttributeKind::kBool) return attribute.bits != 0;
  if (const auto integer = attribute.integer()) return *integer;
  if (const auto real = attribute.real()) return *real;
  return attribute.bits;  // an unsigned number beyond int64
}

Json value_json(const TraceAttribute& attribute) {
  if (attribute.kind == TraceAttributeKind::kNone) return nullptr;
  if (!is_list(attribute.kind))
    return is_text(attribute.kind) ? Json(attribute.text) : number_json(attribute);
  Json list = Json::array();
  for (const std::string_view text : attribute.texts) list.push_back(text);
  for (const std::uint64_t bits : attribute.numbers) {
    TraceAttribute element;
    element.kind = element_kind(attribute.kind);
    element.bits = bits;
    list.push_back(number_json(element));
  }
  return list;
}

std::string value_text(const TraceAttribute& attribute) {
  const Json value = value_json(attribute);
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void add_figures(Json& object, const NodeGroup& group) {
  object["nodes"] = group.nodes;
  object["num_ops"] = group.num_ops.count();
  object["tensor_size_bytes"] = group.tensor_size.count();
  object["comm_size_bytes"] = group.comm_size.count();
  object["duration_ns"] = group.duration.count();
}

Json groups_json(const std::vector<NodeGroup>& groups, const char* key) {
  Json list = Json::array();
  for (const NodeGroup& group : groups) {
    Json object{{key, group.name.empty() ? Json(nullptr) : Json(group.name)}};
    add_figures(object, group);
    list.push_back(std::move(object));
  }
  return list;
}

// A column for what some node has.
class GroupColumns {
 public:
  explicit GroupColumns(const NodeGroup& total)
      : communicates_(total.comm_size > 0_B), timed_(total.duration.count() > 0) {}

  std::vector<TextTable::Column> titles(std::string first) const {
    std::vector<TextTable::Column> columns{
        {std::move(first), Align::kLeft}, {"nodes"}, {"num_ops"}, {"tensor_size"}};
    if (communicates_) columns.push_back({"comm_size"});
    if (timed_) columns.push_back({"duration"});
    return columns;
  }

  std::vector<std::string> cells(std::string first, const NodeGroup& group) const {
    std::vector<std::string> row{std::move(first), with_thousands(group.nodes), to_string(group.num_ops),
                                 to_string(group.tensor_size)};
    if (communicates_) row.push_back(to_string(group.comm_size));
    if (timed_) row.push_back(to_string(group.duration));
    return row;
  }

 private:
  bool communicates_;
  bool timed_;
};

void print_groups(const std::vector<NodeGroup>& groups, const char* title, const NodeGroup& total,
                  Console& console) {
  if (groups.empty()) return;
  const GroupColumns columns(total);
  TextTable table(columns.titles(title));
  for (std::size_t i = 0; i < std::min(groups.size(), kShownGroups); ++i)
    table.add_row(columns.cells(groups[i].name.empty() ? "(none)" : printable(groups[i].name), groups[i]));
  table.add_rule();
  table.add_row(columns.cells("trace", total));
  console.out << '\n' << table.to_string(console.colour_out);
  if (groups.size() > kShownGroups)
    console.out << format("... and {} more, in --json\n", groups.size() - kShownGroups);
}

}  // namespace

Json trace_json(const TraceSummary& summary) {
  Json root{{"nadi_version", version()},
            {"file", summary.file},
            {"schema_version", summary.metadata.version},
            {"bytes", summary.stats.bytes},
            {"data_edges", summary.data_edges},
            {"control_edges", summary.control_edges},
            {"longest_chain_nodes", summary.longest_chain},
            {"compute_nodes_without_num_ops", summary.compute_nodes_without_num_ops},
            {"unknown_fields", summary.stats.unknown_fields.count}};
  root["metadata"] = Json::array();
  for (const TraceAttribute& attribute : summary.metadata.attributes)
    root["metadata"].push_back(
        {{"name", attribute.name}, {"kind", to_string(attribute.kind)}, {"value", value_json(attribute)}});
  root["total"] = Json::object();
  add_figures(root["total"], summary.total);
  root["types"] = groups_json(summary.types, "type");
  root["phases"] = groups_json(summary.phases, "phase");
  root["sections"] = groups_json(summary.sections, "section");
  return root;
}

void print_trace(const TraceSummary& summary, Console& console) {
  std::ostream& out = console.out;
  const auto line = [&](std::string_view label, const std::string& text) {
    out << labelled(label, kTextColumn, {text});
  };
  out << console.heading(summary.file) << '\n';
  line("schema", summary.metadata.version.empty() ? "(not said)" : printable(summary.metadata.version));
  line("size", format("{} ({} bytes)", to_string(Bytes{static_cast<std::int64_t>(summary.stats.bytes)}),
                      with_thousands(static_cast<std::int64_t>(summary.stats.bytes))));
  line("edges", format("{} data, {} control", with_thousands(summary.data_edges),
                       with_thousands(summary.control_edges)));
  line("longest chain", format("{} nodes", with_thousands(summary.longest_chain)));
  if (summary.compute_nodes_without_num_ops > 0)
    line("without num_ops", format("{} COMP nodes", with_thousands(summary.compute_nodes_without_num_ops)));
  if (summary.stats.unknown_fields.count > 0)
    line("passed over",
         format("{} fields that the schema does not have",
                with_thousands(static_cast<std::int64_t>(summary.stats.unknown_fields.count))));
  std::vector<std::string> metadata;
  for (const TraceAttribute& attribute : summary.metadata.attributes)
    metadata.push_back(format("{}={}", printable(attribute.name), printable(value_text(attribute))));
  if (!metadata.empty()) out << labelled("metadata", kTextColumn, metadata);
  print_groups(summary.types, "type", summary.total, console);
  print_groups(summary.phases, "phase", summary.total, console);
  print_groups(summary.sections, "section", summary.total, console);
}

}  // namespace nadi
