// The traces that `nadi analyze` is given: the ranks of a run, read and analysed one after the other.
#pragma once

#include <filesystem>
#include <vector>

#include "nadi/analysis/run_analysis.h"

namespace nadi {

struct Console;

// Reads and analyses each. The rank of a trace is what its metadata says (`rank`), else the number in its
// name (run.3.et), else its place in the list; two of the same rank are Error (usage). The sizes of groups
// come from <prefix>.groups.json, next to <prefix>.<rank>.et, where it is.
RunAnalysis analyze_files(const std::vector<std::filesystem::path>& files, AnalysisOptions options,
                          bool lenient, Console& console);

}  // namespace nadi
