// The analysis of a run, or what changed from one run to another: as text for people, as JSON (docs/json.md
// has the keys), and each table as CSV.
//
//   const AnalysisReport report(run);                     // or AnalysisReport(run, &before)
//   report.print(out, {.style = style_for(console)});
//   out << dump_json(report.json());
//   report.write_csv("tables", Overwrite::kRefuse);       // tables/breakdown.csv and so on
#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/base/json.h"
#include "nadi/tables/report_style.h"
#include "nadi/tables/report_table.h"

namespace nadi::inline traces {
struct RunAnalysis;
}  // namespace nadi::inline traces

namespace nadi::inline show {

// Which tables are printed.
struct AnalysisTextOptions {
  ReportStyle style = {};
  bool all = false;       // every table, not only those that the verdict is made of
  std::size_t rows = 10;  // of each table; 0 prints all rows
  // How the user sees the rest: after "... and 12 more" rows of a table with so many, and after the number of
  // tables that were left out.
  std::string (*more_rows)(std::size_t rows) = nullptr;
  std::string more_tables = {};
};

class AnalysisReport {
 public:
  // Both runs outlive the report. With `before`, the report is of what changed; both runs must have times
  // (Error, usage) and must have been analysed with AnalysisOptions::profile.
  explicit AnalysisReport(const RunAnalysis& run, const RunAnalysis* before = nullptr);

  // Keeps one table, even an empty one.
  void keep_only(const std::string& table);

  void print(std::ostream& out, const AnalysisTextOptions& options) const;
  Json json() const;
  // The same without tables, and the tables.
  Json facts_json() const;
  const std::vector<ReportTable>& tables() const { return tables_; }

  // The tables that have rows; or the one that was kept.
  void print_csv(std::ostream& out) const;
  // <folder>/<table>.csv for each of them, all at once. Returns the files.
  std::vector<std::filesystem::path> write_csv(const std::filesystem::path& folder,
                                               Overwrite overwrite) const;

 private:
  std::vector<ReportTable> tables_for_csv() const;
  void print_tables(std::ostream& out, const AnalysisTextOptions& options) const;

  const RunAnalysis& run_;
  const RunAnalysis* before_;
  std::optional<std::string> only_;
  std::vector<ReportTable> tables_;
};

}  // namespace nadi::inline show
