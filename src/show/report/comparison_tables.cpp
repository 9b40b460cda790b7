// Tables of what changed between two runs; see analysis_tables.h.
#include <algorithm>

#include "nadi/analysis/run_analysis.h"
#include "nadi/base/format.h"
#include "nadi/report/analysis_tables.h"

namespace nadi::inline show {
namespace {

// The part of a table that says how a time changed.
void add_change_columns(ReportTable& table) {
  table.columns.push_back({"before_ns", "before", CellKind::kTime});
  table.columns.push_back({"after_ns", "after", CellKind::kTime});
  table.columns.push_back({"difference_ns", "difference", CellKind::kTimeChange});
  table.columns.push_back({"change", "", CellKind::kChange});
}

void add_change(std::vector<ReportCell>& row, double before, double after) {
  row.insert(row.end(), {before, after, after - before});
  row.push_back(before > 0 && after > 0 ? ReportCell(after / before - 1) : ReportCell());
}

double per_step(const RunAnalysis& run, Nanoseconds (*of)(const RankAnalysis&)) {
  Nanoseconds sum;
  for (const RankAnalysis& rank : run.ranks) sum += of(rank);
  return static_cast<double>(sum.count()) /
         static_cast<double>(std::max<std::int64_t>(run.profile.rank_steps(), 1));
}

ReportTable total_table(const RunAnalysis& before, const RunAnalysis& after) {
  ReportTable table{.name = "totals",
                    .title = "Time of a step",
                    .note = "per step of a rank; the span is the device's, with what lies between steps",
                    .columns = {{"name", "time", CellKind::kText}}};
  add_change_columns(table);
  const auto add = [&](std::string name, Nanoseconds (*of)(const RankAnalysis&)) {
    std::vector<ReportCell> row{std::move(name)};
    add_change(row, per_step(before, of), per_step(after, of));
    table.rows.push_back(std::move(row));
  };
  add("span", [](const RankAnalysis& rank) { return rank.breakdown.span; });
  add("compute", [](const RankAnalysis& rank) { return rank.breakdown.compute; });
  add("communication, exposed",
      [](const RankAnalysis& rank) { return rank.breakdown.exposed_communication; });
  add("communication, hidden",
      [](const RankAnalysis& rank) { return rank.breakdown.hidden_communication(); });
  add("memory, exposed", [](const RankAnalysis& rank) { return rank.breakdown.exposed_memory; });
  add("idle", [](const RankAnalysis& rank) { return rank.breakdown.idle; });
  add("host ops, summed", [](const RankAnalysis& rank) { return rank.breakdown.host_sum.time; });
  std::erase_if(table.rows, [](const std::vector<ReportCell>& row) {
    return std::get<double>(row[1]) == 0 && std::get<double>(row[2]) == 0;
  });
  return table;
}

std::string_view to_string(ChangeKind kind) {
  return kind == ChangeKind::kNew ? "new" : kind == ChangeKind::kGone ? "gone" : "";
}

ReportTable change_table(const Comparison& comparison) {
  ReportTable table{.name = "changes",
                    .title = "Ops, the largest differences first",
                    .note = "per step of a rank",
                    .columns = {{"name", "op", CellKind::kText},
                                {"activity", "activity", CellKind::kText},
                                {"kind", "", CellKind::kText},
                                {"nodes_before", "nodes", CellKind::kNumber},
                                {"nodes_after", "now", CellKind::kNumber}}};
  add_change_columns(table);
  for (const Change& change : comparison.ops) {
    std::vector<ReportCell> row{change.name, std::string(to_string(change.activity)),
                                std::string(to_string(change.kind)), change.before.nodes, change.after.nodes};
    add_change(row, change.before.time_ns, change.after.time_ns);
    table.rows.push_back(std::move(row));
  }
  return table;
}

ReportTable occurrence_table(const Comparison& comparison) {
  ReportTable table{.name = "occurrences",
                    .title = "Single places, the largest differences first",
                    .note = "of ops that occur equally often in both; the mean over steps and ranks",
                    .columns = {{"name", "op", CellKind::kText},
                                {"layer", "layer", CellKind::kText},
                                {"phase", "phase", CellKind::kText},
                                {"occurrence", "occurrence"},
                                {"activity", "", CellKind::kText, Shown::kToPrograms}}};
  add_change_columns(table);
  for (const OccurrenceChange& change : comparison.occurrences) {
    if (change.before_ns == change.after_ns) continue;
    const auto said = [](const std::string& text) { return text.empty() ? ReportCell() : ReportCell(text); };
    std::vector<ReportCell> row{change.name, said(change.layer), said(change.phase), change.occurrence,
                                std::string(to_string(change.activity))};
    add_change(row, change.before_ns, change.after_ns);
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

std::vector<ReportTable> comparison_tables(const RunAnalysis& before, const RunAnalysis& after) {
  const Comparison comparison = compare(before.profile, after.profile);
  return {total_table(before, after), change_table(comparison), occurrence_table(comparison)};
}

std::vector<std::string> comparison_table_names() {
  return names_of(comparison_tables({}, {}));
}

}  // namespace nadi::inline show
