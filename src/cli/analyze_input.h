// The traces that `nadi analyze` is given: the ranks of a run, read and analysed one after the other.
#pragma once

#include <filesystem>
#include <vector>

#include "nadi/analysis/run_analysis.h"

namespace nadi {

struct Console;

// Reads and analyses each. Files are told apart by their content: Chakra traces, or profiles (Kineto) of
// PyTorch and of our own runs, which are converted in memory as `nadi convert` does; traces of PyTorch's host
// go with the profiles in their order, or alone, and then have no times. A profile may hold several ranks.
//
// The rank of a trace is what its metadata says (`rank`), else the number in its name (run.3.et), else its
// place in the list; two of the same rank are Error (usage). The sizes of groups come from the profiles, or
// from <prefix>.groups.json next to <prefix>.<rank>.et, where it is.
RunAnalysis analyze_files(const std::vector<std::filesystem::path>& files, AnalysisOptions options,
                          bool lenient, Console& console);

}  // namespace nadi
