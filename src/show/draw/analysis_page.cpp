#include "nadi/draw/analysis_page.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "nadi/analysis/run_analysis.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/version.h"
#include "nadi/draw/html_page.h"
#include "nadi/report/analysis_definitions.h"
#include "nadi/report/analysis_heading.h"
#include "nadi/report/analysis_report.h"
#include "nadi/report/headline_text.h"
#include "nadi/report/verdict_text.h"
#include "nadi/tables/kernel_name.h"

namespace nadi::inline show {
namespace {

std::string_view name_of_kind(CellKind kind) {
  switch (kind) {
    case CellKind::kText:
      return "text";
    case CellKind::kKernel:
      return "kernel";
    case CellKind::kFigure:
      return "figure";
    case CellKind::kYesNo:
      return "yes-no";
    case CellKind::kCount:
      return "count";
    case CellKind::kNumber:
      return "number";
    case CellKind::kSpeed:
      return "speed";
    case CellKind::kTime:
      return "time";
    case CellKind::kBytes:
      return "bytes";
    case CellKind::kFlops:
      return "flops";
    case CellKind::kByteRate:
      return "byte-rate";
    case CellKind::kFlopRate:
      return "flop-rate";
    case CellKind::kShare:
      return "share";
    case CellKind::kChange:
      return "change";
    case CellKind::kTimeChange:
      return "time-change";
  }
  unreachable();
}

std::string_view name_of_shown(Shown shown) {
  switch (shown) {
    case Shown::kAlways:
      return "always";
    case Shown::kUnlessZero:
      return "unless-zero";
    case Shown::kIfRoom:
      return "if-room";
    case Shown::kToPrograms:
      return "to-programs";
  }
  unreachable();
}

Json column_json(const ReportColumn& column) {
  return {{"key", column.key},
          {"title", column.title},
          {"kind", name_of_kind(column.kind)},
          {"shown", name_of_shown(column.shown)},
          {"absent", column.absent}};
}

Json cell_json(const ReportCell& cell) {
  return std::visit(
      [](const auto& value) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
          return nullptr;
        else
          return value;
      },
      cell);
}

// Names of kernels as people read them (kernel_name.h), where they differ from the full ones.
Json short_names(const ReportTable& table, std::size_t column) {
  std::vector<std::string> names;
  for (const auto& row : table.rows) {
    const auto* text = std::get_if<std::string>(&row[column]);
    names.push_back(text != nullptr ? *text : "");
  }
  const std::vector<std::string> full = names;
  names = kernel_names(names);
  Json list = Json::array();
  for (std::size_t row = 0; row < names.size(); ++row)
    list.push_back(names[row] == full[row] ? Json(nullptr) : Json(names[row]));
  return list;
}

Json page_table(const ReportTable& table) {
  Json columns = Json::array(), values = Json::array();
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    Json column = column_json(table.columns[c]);
    if (table.columns[c].kind == CellKind::kKernel) column["short"] = short_names(table, c);
    columns.push_back(std::move(column));
    Json list = Json::array();
    for (const auto& row : table.rows) list.push_back(cell_json(row[c]));
    values.push_back(std::move(list));
  }
  return {{"name", table.name},
          {"title", table.title},
          {"note", table.note},
          {"columns", std::move(columns)},
          {"values", std::move(values)}};
}

Json page_tables(const std::vector<ReportTable>& tables) {
  Json list = Json::array();
  for (const ReportTable& table : tables) list.push_back(page_table(table));
  return list;
}

// Six numbers a box: start, length, busy, nodes, name, activity.
Json boxes_json(const std::vector<StripBox>& boxes, Nanoseconds origin) {
  Json list = Json::array();
  for (const StripBox& box : boxes)
    for (const std::int64_t number :
         {(box.start - origin).count(), (box.end - box.start).count(), box.busy.count(), box.nodes,
          std::int64_t{box.name}, static_cast<std::int64_t>(box.activity)})
      list.push_back(number);
  return list;
}

Nanoseconds first_start(const RankStrip& strip) {
  std::optional<Nanoseconds> first;
  for (const auto* lane : {&strip.host, &strip.compute, &strip.communication, &strip.memory, &strip.path})
    if (!lane->empty()) first = std::min(first.value_or(lane->front().start), lane->front().start);
  return first.value_or(Nanoseconds{});
}

// Ranks share an origin where their clocks can be related, else each begins at 0.
Json strips_json(const RunAnalysis& run) {
  const bool related = run.stragglers.measure == WaitMeasure::kArrival;
  std::optional<Nanoseconds> origin;
  for (const RankStrip& strip : run.strips.ranks)
    if (strip.boxes() > 0) origin = std::min(origin.value_or(first_start(strip)), first_start(strip));
  Json ranks = Json::array(), crossings = Json::array();
  for (const RankStrip& strip : run.strips.ranks) {
    const Nanoseconds begin = related ? origin.value_or(Nanoseconds{}) : first_start(strip);
    ranks.push_back({{"rank", strip.rank},
                     {"names", strip.names},
                     {"lanes",
                      {{"host", boxes_json(strip.host, begin)},
                       {"compute", boxes_json(strip.compute, begin)},
                       {"communication", boxes_json(strip.communication, begin)},
                       {"memory", boxes_json(strip.memory, begin)},
                       {"path", boxes_json(strip.path, begin)}}}});
  }
  for (const StripCrossing& crossing : run.strips.crossings)
    crossings.push_back({crossing.from, crossing.to, (crossing.at - origin.value_or(Nanoseconds{})).count()});
  return {{"related", related},
          {"ranks", std::move(ranks)},
          {"crossings", std::move(crossings)},
          {"left_out", run.strips.ranks_left_out}};
}

Json run_json(const RunAnalysis& run) {
  const AnalysisReport report(run);
  const AnalysisHeading heading = analysis_heading(run);
  Json headline = Json::array();
  for (const ReportFact& fact : headline_facts(run)) headline.push_back(column_json(fact.name));
  return {{"heading", {{"title", heading.title}, {"lines", heading.lines}}},
          {"verdict", verdict_lines(run)},
          {"headline_lines", headline_lines(run)},
          {"facts", report.facts_json()},
          {"headline", std::move(headline)},
          {"tables", page_tables(report.tables())},
          {"strips", strips_json(run)}};
}

void define(Json& definitions, const std::string& table, const std::vector<ReportColumn>& columns) {
  Json& entry = definitions[table];
  entry["text"] = table_definition(table);
  entry["figures"] = Json::object();
  for (const ReportColumn& column : columns)
    if (const FigureDefinition* definition = find_definition(table, column.key))
      entry["figures"][column.key] = {{"text", definition->text}, {"formula", definition->formula}};
}

std::string title_of(const AnalysisPage& page) {
  const std::string after = analysis_heading(page.run).title;
  return page.before == nullptr ? after
                                : format("{} against {}", after, analysis_heading(*page.before).title);
}

}  // namespace

std::string analysis_page_data(const AnalysisPage& page) {
  Json runs = Json::array(), comparison = nullptr, definitions = Json::object();
  std::vector<ReportTable> tables = AnalysisReport(page.run).tables();
  runs.push_back(run_json(page.run));
  if (page.before != nullptr) {
    const AnalysisReport changes(page.run, page.before);
    comparison = page_tables(changes.tables());
    tables.insert(tables.end(), changes.tables().begin(), changes.tables().end());
    runs.push_back(run_json(*page.before));
  }
  std::vector<ReportColumn> headline;
  for (const ReportFact& fact : headline_facts(page.run)) headline.push_back(fact.name);
  define(definitions, "verdict", {});
  define(definitions, "headline", headline);
  for (const ReportTable& table : tables) define(definitions, table.name, table.columns);
  const Json data{{"nadi_version", version()},
                  {"runs", std::move(runs)},
                  {"comparison", std::move(comparison)},
                  {"definitions", std::move(definitions)}};
  return data.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void write_analysis_page(const AnalysisPage& page, const std::filesystem::path& path, Overwrite overwrite) {
  const std::string title = title_of(page);
  const std::string data = analysis_page_data(page);
  HtmlPage html(path, overwrite, report_bundle(), format("Analysis of {}", title));
  html.head(dump_json(
      {{"title", page.before == nullptr ? "Analysis of a run" : "Two runs compared"}, {"subtitle", title}}));
  html.block("report", data);
  html.commit();
}

}  // namespace nadi::inline show
