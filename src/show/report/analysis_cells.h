// Cells that the tables of an analysis share. Internal to analysis_tables.cpp,
// analysis_op_tables.cpp and analysis_rank_tables.cpp.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/analysis/run_analysis.h"
#include "nadi/tables/report_table.h"

namespace nadi::inline show::analysis_cells {

inline ReportCell text(std::string_view value) {
  return std::string(value);
}
inline ReportCell named(std::string_view value) {
  return value.empty() ? ReportCell() : ReportCell(std::string(value));
}
inline ReportCell time(Nanoseconds value) {
  return value.count();
}
// What was not measured is shown as nothing, rather than as zero.
inline ReportCell measured(Nanoseconds value, bool clock) {
  return clock ? ReportCell(value.count()) : ReportCell();
}
inline ReportCell share(Nanoseconds part, Nanoseconds whole) {
  if (whole.count() <= 0) return {};
  return static_cast<double>(part.count()) / static_cast<double>(whole.count());
}
inline ReportCell amount(const KnownAmount& known) {
  return known.nodes == 0 ? ReportCell() : ReportCell(known.amount);
}
inline ReportCell rate(const KnownAmount& known) {
  return known.nodes == 0 || known.amount == 0 || known.time.count() <= 0 ? ReportCell()
                                                                          : ReportCell(known.per_second());
}

inline bool any_clock(const RunAnalysis& run) {
  return std::ranges::any_of(run.ranks,
                             [](const RankAnalysis& rank) { return rank.clock != TimelineClock::kNone; });
}

// A rank, or all of them where the cell is empty.
inline ReportColumn rank_column() {
  return {"rank", "rank", CellKind::kCount, Shown::kAlways, "all"};
}

}  // namespace nadi::inline show::analysis_cells

namespace nadi::inline show {

// In analysis_op_tables.cpp: ops, and what they belong to.
ReportTable op_table(const RunAnalysis& run);
ReportTable duration_table(const RunAnalysis& run);
ReportTable host_op_table(const RunAnalysis& run);
ReportTable group_table(std::string name, std::string title, const std::vector<GroupRow>& groups, bool clock);

// In analysis_rank_tables.cpp: what ranks say to each other, and the path through them.
ReportTable communication_table(const RunAnalysis& run);
ReportTable straggler_table(const RunAnalysis& run);
ReportTable collective_table(const RunAnalysis& run);
ReportTable critical_path_table(const RunAnalysis& run);
ReportTable critical_op_table(const RunAnalysis& run);
ReportTable critical_phase_table(const RunAnalysis& run);

}  // namespace nadi::inline show
