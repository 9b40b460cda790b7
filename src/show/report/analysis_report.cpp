#include "nadi/report/analysis_report.h"

#include <algorithm>
#include <ostream>
#include <string_view>

#include "nadi/analysis/run_analysis.h"
#include "nadi/base/atomic_file_set.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/version.h"
#include "nadi/report/analysis_heading.h"
#include "nadi/report/analysis_tables.h"
#include "nadi/report/headline_text.h"
#include "nadi/report/verdict_text.h"
#include "nadi/tables/report_facts.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {
namespace {

std::string_view to_string(TimelineClock clock) {
  switch (clock) {
    case TimelineClock::kNone:
      return "none";
    case TimelineClock::kRecorded:
      return "recorded";
    case TimelineClock::kReplayed:
      return "replayed";
  }
  unreachable();
}

// "critical-path" -> "critical_path"
std::string json_key(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

Json ranks_json(const RunAnalysis& run) {
  Json list = Json::array();
  for (const RankAnalysis& rank : run.ranks)
    list.push_back({{"rank", rank.rank},
                    {"file", rank.file},
                    {"nodes", rank.nodes},
                    {"left_out", rank.left_out},
                    {"without_times", rank.without_times},
                    {"clock", to_string(rank.clock)},
                    {"steps", rank.steps},
                    {"start_ns", rank.start.count()},
                    {"end_ns", rank.end.count()}});
  return list;
}

// A sentence in as many lines as it needs; further ones are indented.
std::string wrapped(std::string_view sentence, std::size_t width) {
  constexpr std::string_view kIndent = "  ";
  std::string text;
  std::size_t at = 0;
  for (const std::string& word : words_of(sentence)) {
    if (at > 0 && at + 1 + word.size() > width) {
      text += "\n";
      text += kIndent;
      at = kIndent.size();
    } else if (at > 0) {
      text += ' ';
      ++at;
    }
    text += word;
    at += word.size();
  }
  return text + "\n";
}

void print_heading(const RunAnalysis& run, std::string_view label, std::ostream& out,
                   const ReportStyle& style) {
  const AnalysisHeading heading = analysis_heading(run);
  out << label << style.heading(heading.title) << "\n";
  for (const std::string& line : heading.lines) out << line << "\n";
}

void print_verdict(const RunAnalysis& run, std::ostream& out, const ReportStyle& style) {
  const std::vector<std::string> verdict = verdict_lines(run);
  out << style.heading(wrapped(verdict[0], style.width));
  for (const std::string& line : headline_lines(run)) out << wrapped(line, style.width);
  for (std::size_t i = 1; i < verdict.size(); ++i) out << wrapped(verdict[i], style.width);
  out << "\n";
}

void require_times(const RunAnalysis& run) {
  for (const RankAnalysis& rank : run.ranks)
    if (rank.clock == TimelineClock::kNone)
      throw usage_error(format("{} has no times: there is nothing to compare", rank.file),
                        "traces of runs have times; traces of a plan do not");
}

// Keeps these, in this order. Returns how many others there were.
std::size_t keep_tables(std::vector<ReportTable>& tables, const std::vector<std::string>& names) {
  std::vector<ReportTable> kept;
  for (const std::string& name : names)
    if (const auto table = std::ranges::find(tables, name, &ReportTable::name); table != tables.end())
      kept.push_back(std::move(*table));
  const std::size_t others = tables.size() - kept.size();
  tables = std::move(kept);
  return others;
}

void leave_out_empty(std::vector<ReportTable>& tables) {
  std::erase_if(tables, [](const ReportTable& table) { return table.rows.empty(); });
}

}  // namespace

AnalysisReport::AnalysisReport(const RunAnalysis& run, const RunAnalysis* before)
    : run_(run), before_(before) {
  if (before != nullptr) {
    require_times(*before);
    require_times(run);
  }
  tables_ = before != nullptr ? comparison_tables(*before, run) : analysis_tables(run);
}

void AnalysisReport::keep_only(const std::string& table) {
  only_ = table;
  std::erase_if(tables_, [&](const ReportTable& entry) { return entry.name != table; });
}

Json AnalysisReport::facts_json() const {
  return {{"nadi_version", version()},
          {"verdict", verdict_json(run_)},
          {"headline", nadi::facts_json(headline_facts(run_))},
          {"ranks", ranks_json(run_)},
          {"before", before_ != nullptr ? ranks_json(*before_) : Json(nullptr)},
          {"matched_collectives", run_.stragglers.matched},
          {"unmatched_collectives", run_.stragglers.unmatched},
          {"matched_messages", run_.matched_messages},
          {"unmatched_messages", run_.unmatched_messages},
          {"path_crosses_ranks", run_.path_crosses_ranks}};
}

Json AnalysisReport::json() const {
  Json root = facts_json();
  for (const ReportTable& table : tables_) root["tables"][json_key(table.name)] = table_json(table);
  return root;
}

void AnalysisReport::print(std::ostream& out, const AnalysisTextOptions& options) const {
  const ReportStyle& style = options.style;
  if (before_ != nullptr) {
    print_heading(*before_, "before  ", out, style);
    out << wrapped(verdict_lines(*before_)[0], style.width);
    for (const std::string& line : headline_lines(*before_)) out << wrapped(line, style.width);
    print_heading(run_, "after   ", out, style);
    out << wrapped(verdict_lines(run_)[0], style.width);
    for (const std::string& line : headline_lines(run_)) out << wrapped(line, style.width);
  } else {
    print_verdict(run_, out, style);
    print_heading(run_, "", out, style);
  }
  print_tables(out, options);
}

void AnalysisReport::print_tables(std::ostream& out, const AnalysisTextOptions& options) const {
  std::vector<ReportTable> tables = tables_;
  leave_out_empty(tables);
  std::size_t left_out = 0;
  if (before_ == nullptr && !options.all && !only_) left_out = keep_tables(tables, summary_table_names(run_));
  if (only_ && tables.empty()) out << format("\n{}: the trace has nothing for this table\n", *only_);
  const ReportStyle& style = options.style;
  for (const ReportTable& table : tables) {
    out << "\n" << style.heading(table.title) << "\n";
    if (!table.note.empty()) out << wrapped("(" + table.note + ")", style.width);
    out << table_text(table, {.rows = options.rows,
                              .width = style.table_width,
                              .more = options.more_rows ? options.more_rows(table.rows.size()) : ""});
  }
  if (left_out > 0) out << wrapped(format("\n{} more tables{}", left_out, options.more_tables), style.width);
}

std::vector<ReportTable> AnalysisReport::tables_for_csv() const {
  std::vector<ReportTable> tables = tables_;
  if (!only_) leave_out_empty(tables);
  return tables;
}

void AnalysisReport::print_csv(std::ostream& out) const {
  for (const ReportTable& table : tables_for_csv()) out << table_csv(table);
}

std::vector<std::filesystem::path> AnalysisReport::write_csv(const std::filesystem::path& folder,
                                                             Overwrite overwrite) const {
  AtomicFileSet files(overwrite, Durability::kNow);
  std::vector<std::filesystem::path> paths;
  for (const ReportTable& table : tables_for_csv()) {
    paths.push_back(folder / (table.name + ".csv"));
    files.write(paths.back(), table_csv(table));
  }
  files.publish();
  return paths;
}

}  // namespace nadi::inline show
