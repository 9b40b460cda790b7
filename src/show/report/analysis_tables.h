// The answers of an analysis as tables, in the order in which they are shown. A table for which a trace knows
// nothing has no rows: launches, where it has no launch calls.
#pragma once

#include <string>
#include <vector>

#include "nadi/tables/report_table.h"

namespace nadi::inline traces {
struct RunAnalysis;
}  // namespace nadi::inline traces

namespace nadi::inline show {

std::vector<ReportTable> analysis_tables(const RunAnalysis& run);

// Those that are printed unless all are asked for: what the verdict is made of.
std::vector<std::string> summary_table_names(const RunAnalysis& run);

// What changed from one run to the other. Both must have been analysed with AnalysisOptions::profile.
std::vector<ReportTable> comparison_tables(const RunAnalysis& before, const RunAnalysis& after);

// Names of all tables, whether or not a run has rows for them.
std::vector<std::string> analysis_table_names();
std::vector<std::string> comparison_table_names();

}  // namespace nadi::inline show
