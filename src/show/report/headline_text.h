// How long a step takes, how much it gets done and what the time was lost to: in words, and as figures for
// programs (analysis/headline.h).
//
//   for (const std::string& line : headline_lines(run)) console.out << line << "\n";
//   Json root{{"headline", facts_json(headline_facts(run))}};
#pragma once

#include <string>
#include <vector>

#include "nadi/tables/report_facts.h"

namespace nadi::inline traces {
struct RunAnalysis;
}  // namespace nadi::inline traces

namespace nadi::inline show {

// Nothing of traces without times. Losses that would be printed as 0.0% are left out.
std::vector<std::string> headline_lines(const RunAnalysis& run);

std::vector<ReportFact> headline_facts(const RunAnalysis& run);

}  // namespace nadi::inline show
