// The verdict of an analysis in words: what limits the step, how the time splits, and what to look at.
//
//   for (const std::string& line : verdict_lines(run)) console.out << wrapped(line, console.width);
//
// Every figure in it stands in a table, with the same value: shares of the device's time in `breakdown` (row
// "all" where there are several ranks), causes of idle time in `idle`, kinds in `kinds`, and so on.
#pragma once

#include <string>
#include <vector>

#include "nadi/base/json.h"

namespace nadi::inline traces {
struct RunAnalysis;
}  // namespace nadi::inline traces

namespace nadi::inline show {

// Three sentences, without line breaks.
std::vector<std::string> verdict_lines(const RunAnalysis& run);

// "limit", "device", "limit_share", "cause_share" and "lines".
Json verdict_json(const RunAnalysis& run);

}  // namespace nadi::inline show
