#include "nadi/report/analysis_report.h"

#include <algorithm>
#include <ostream>
#include <string_view>
#include <utility>

#include "nadi/analysis/run_analysis.h"
#include "nadi/base/atomic_file_set.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/version.h"
#include "nadi/report/analysis_tables.h"
#include "nadi/report/verdict_text.h"
#include "nadi/terminal/wrap.h"

namespace nadi {
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
  std::int64_t nodes = 0, untimed = 0, without_launch = 0;
  Nanoseconds span;
  bool replayed = false;
  for (const RankAnalysis& rank : run.ranks) {
    nodes += rank.nodes;
    span = std::max(span, rank.end - rank.start);
    untimed += rank.clock == TimelineClock::kNone ? 0 : rank.without_times;
    replayed = replayed || rank.clock == TimelineClock::kReplayed;
    if (!rank.launches.rows.empty()) without_launch += rank.launches.without_launch;
  }
  const RankAnalysis& first = run.ranks.front();
  std::string line = run.ranks.size() == 1 ? format("{} (rank {})", first.file, first.rank)
                     : first.file == run.ranks.back().file
                         ? format("{} ({} ranks)", first.file, run.ranks.size())
                         : format("{} ranks, {} to {}", run.ranks.size(), first.file, run.ranks.back().file);
  out << label << style.heading(line) << "\n";
  line = format("{} nodes", with_thousands(nodes));
  if (!first.steps.empty())
    line += first.steps.size() == 1 ? format(", step {}", first.steps[0])
                                    : format(", {} steps ({} to {})", first.steps.size(), first.steps.front(),
                                             first.steps.back());
  line += span.count() > 0 ? format(", {}", nadi::to_string(span)) : ", without times";
  out << line << "\n";
  if (first.left_out > 0)
    out << format("{} nodes of other steps are left out\n", with_thousands(first.left_out));
  if (replayed) out << "the files have no start times: those of a replay are used\n";
  if (untimed > 0) out << format("{} nodes have no times\n", with_thousands(untimed));
  if (without_launch > 0)
    out << format("{} nodes of the device have no launch call\n", with_thousands(without_launch));
  if (run.ranks.size() > 1 && span.count() > 0)
    out << (run.stragglers.measure == WaitMeasure::kArrival
                ? "clocks of ranks are taken as recorded\n"
                : "clocks of ranks look unrelated: waiting is computed from durations\n");
  if (run.stragglers.unmatched > 0)
    out << format("{} collectives have no partner on another rank\n",
                  with_thousands(run.stragglers.unmatched));
}

void print_verdict(const RunAnalysis& run, std::ostream& out, const ReportStyle& style) {
  bool first = true;
  for (const std::string& line : verdict_lines(run)) {
    const std::string text = wrapped(line, style.width);
    out << (std::exchange(first, false) ? style.heading(text) : text);
  }
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

Json AnalysisReport::json() const {
  Json root{{"nadi_version", version()},
            {"verdict", verdict_json(run_)},
            {"ranks", ranks_json(run_)},
            {"before", before_ != nullptr ? ranks_json(*before_) : Json(nullptr)},
            {"matched_collectives", run_.stragglers.matched},
            {"unmatched_collectives", run_.stragglers.unmatched},
            {"matched_messages", run_.matched_messages},
            {"unmatched_messages", run_.unmatched_messages},
            {"path_crosses_ranks", run_.path_crosses_ranks}};
  for (const ReportTable& table : tables_) root["tables"][json_key(table.name)] = table_json(table);
  return root;
}

void AnalysisReport::print(std::ostream& out, const AnalysisTextOptions& options) const {
  const ReportStyle& style = options.style;
  if (before_ != nullptr) {
    print_heading(*before_, "before  ", out, style);
    out << wrapped(verdict_lines(*before_)[0], style.width);
    print_heading(run_, "after   ", out, style);
    out << wrapped(verdict_lines(run_)[0], style.width);
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
                              .width = style.width,
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

}  // namespace nadi
