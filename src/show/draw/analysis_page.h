// The analysis of a run as a page: verdict, breakdown, timeline with the critical path, and every table of
// the report, with the definition of each figure; of two runs both, side by side, and what changed.
//
//   write_analysis_page({.run = run}, "report.html", Overwrite::kRefuse);
//   write_analysis_page({.run = after, .before = &before}, "report.html", Overwrite::kAllow);
//
// The runs must have been analysed with AnalysisOptions::picture, and with AnalysisOptions::profile where two
// are compared. Tables and figures are those of AnalysisReport: what its JSON has, the page has, to the last
// digit. Names from traces are data of the page and never part of its HTML (html_page.h).
#pragma once

#include <filesystem>
#include <string>

#include "nadi/base/atomic_file.h"

namespace nadi::inline traces {
struct RunAnalysis;
}  // namespace nadi::inline traces

namespace nadi::inline show {

struct AnalysisPage {
  const RunAnalysis& run;
  const RunAnalysis* before = nullptr;  // an earlier run that `run` is compared with
};

// Throws Error: usage where runs without times are to be compared, else what AtomicFile throws.
void write_analysis_page(const AnalysisPage& page, const std::filesystem::path& path, Overwrite overwrite);

// What the page shows, as JSON:
//   runs[]         later run first: "heading", "verdict" (lines), "facts" (JSON of the report without
//   tables),
//                  "headline" (names of its figures), "tables", "strips"
//   comparison     tables, or null
//   definitions    by table: "text", and "figures" by key with "text" and "formula"
// A table has "columns" and "values", a list for each column.
std::string analysis_page_data(const AnalysisPage& page);

}  // namespace nadi::inline show
