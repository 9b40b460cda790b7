#include "nadi/report/trace_report.h"

#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include "nadi/base/format.h"
#include "nadi/base/version.h"
#include "nadi/chakra/trace_summary.h"
#include "nadi/tables/report_facts.h"
#include "nadi/tables/report_table.h"
#include "nadi/terminal/printable.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {
namespace {

constexpr std::size_t kTraceTextColumn = 17;
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

std::vector<ReportColumn> group_columns(const std::string& what) {
  return {{what, what, CellKind::kText, Shown::kAlways, "(none)"},
          {"nodes", "nodes", CellKind::kCount},
          {"num_ops", "num_ops", CellKind::kFlops},
          {"tensor_size_bytes", "tensor_size", CellKind::kBytes},
          {"comm_size_bytes", "comm_size", CellKind::kBytes, Shown::kUnlessZero},
          {"duration_ns", "duration", CellKind::kTime, Shown::kUnlessZero}};
}

std::vector<ReportCell> group_cells(ReportCell name, const NodeGroup& group) {
  return {std::move(name),         group.nodes,           group.num_ops.count(), group.tensor_size.count(),
          group.comm_size.count(), group.duration.count()};
}

ReportTable group_table(const std::vector<NodeGroup>& groups, const std::string& what,
                        const NodeGroup& total) {
  ReportTable table{.name = what, .title = what, .columns = group_columns(what)};
  for (const NodeGroup& group : groups)
    table.rows.push_back(group_cells(group.name.empty() ? ReportCell() : ReportCell(group.name), group));
  table.total = group_cells(std::string("trace"), total);
  return table;
}

std::vector<ReportTable> group_tables(const TraceSummary& summary) {
  return {group_table(summary.types, "type", summary.total),
          group_table(summary.phases, "phase", summary.total),
          group_table(summary.sections, "section", summary.total)};
}

// "12.3 MB (12,345,678 bytes)"
std::string size_text(std::uint64_t bytes) {
  const auto size = static_cast<std::int64_t>(bytes);
  return format("{} ({} bytes)", to_string(Bytes{size}), with_thousands(size));
}

std::vector<ReportFact> trace_facts(const TraceSummary& summary) {
  const std::string& schema = summary.metadata.version;
  const auto counted = [](auto count, std::string_view what) {
    return std::vector{format("{} {}", with_thousands(static_cast<std::int64_t>(count)), what)};
  };
  return {{{"nadi_version", "", CellKind::kText, Shown::kToPrograms}, std::string(version())},
          {{"file", "", CellKind::kText, Shown::kToPrograms}, summary.file},
          {{"schema_version", "schema", CellKind::kText},
           schema,
           {schema.empty() ? "(not said)" : printable(schema)}},
          {{"bytes", "size", CellKind::kBytes},
           static_cast<std::int64_t>(summary.stats.bytes),
           {size_text(summary.stats.bytes)}},
          {{"data_edges", "edges", CellKind::kCount},
           summary.data_edges,
           {format("{} data, {} control", with_thousands(summary.data_edges),
                   with_thousands(summary.control_edges))}},
          {{"control_edges", "", CellKind::kCount, Shown::kToPrograms}, summary.control_edges},
          {{"longest_chain_nodes", "longest chain", CellKind::kCount},
           summary.longest_chain,
           counted(summary.longest_chain, "nodes")},
          {{"compute_nodes_without_num_ops", "without num_ops", CellKind::kCount, Shown::kUnlessZero},
           summary.compute_nodes_without_num_ops,
           counted(summary.compute_nodes_without_num_ops, "COMP nodes")},
          {{"unknown_fields", "passed over", CellKind::kCount, Shown::kUnlessZero},
           static_cast<std::int64_t>(summary.stats.unknown_fields.count),
           counted(summary.stats.unknown_fields.count, "fields that the schema does not have")}};
}

}  // namespace

Json trace_json(const TraceSummary& summary) {
  Json root = facts_json(trace_facts(summary));
  root["metadata"] = Json::array();
  for (const TraceAttribute& attribute : summary.metadata.attributes)
    root["metadata"].push_back(
        {{"name", attribute.name}, {"kind", to_string(attribute.kind)}, {"value", value_json(attribute)}});
  const std::vector<ReportTable> tables = group_tables(summary);
  // The total is no group: it has no name.
  root["total"] = row_json(std::span(tables[0].columns).subspan(1), std::span(tables[0].total).subspan(1));
  for (const ReportTable& table : tables) root[table.name + "s"] = table_json(table);
  return root;
}

void print_trace(const TraceSummary& summary, std::ostream& out, const TraceTextOptions& options) {
  out << options.style.heading(summary.file) << '\n'
      << facts_text(trace_facts(summary), kTraceTextColumn, options.style.width);
  std::vector<std::string> metadata;
  for (const TraceAttribute& attribute : summary.metadata.attributes)
    metadata.push_back(format("{}={}", printable(attribute.name), printable(value_text(attribute))));
  if (!metadata.empty()) out << labelled("metadata", kTraceTextColumn, metadata, options.style.width);
  for (const ReportTable& table : group_tables(summary))
    if (!table.rows.empty())
      out << '\n'
          << table_text(table, {.rows = kShownGroups,
                                .bold_titles = options.style.colour,
                                .width = options.style.table_width,
                                .more = options.more});
}

}  // namespace nadi::inline show
