// Reads the traces of a run, one file after the other, and analyses them.
//
//   const RunAnalysis run = analyze_files(files, {.analysis = {.step = 3}, .lenient = true});
//
// The content of a file tells its kind: a Chakra trace, or a profile (Kineto) of PyTorch or of a run of Nadi,
// which is converted in memory (convert/). Host traces of PyTorch are paired with the profiles in their
// order; without profiles they are analysed alone and have no times. A profile may hold several ranks.
//
// The rank of a trace is what its metadata says (`rank`), else the number in its name (run.3.et), else its
// place in the list. The sizes of groups come from the profiles, or from <prefix>.groups.json beside
// <prefix>.<rank>.et.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "nadi/analysis/run_analysis.h"

namespace nadi {

struct AnalyzeFilesOptions {
  AnalysisOptions analysis = {};
  bool lenient = false;  // skip damaged records, and dependencies on nodes that are not in the file
  // Traces that were read, and all of them. Called now and then, within a file too; may throw to stop.
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};
  std::function<void(const std::string& text)> note = {};  // told what was left out
};

// Throws Error: usage for two traces of one rank and for files that do not go together, input for a file that
// cannot be read.
RunAnalysis analyze_files(const std::vector<std::filesystem::path>& files,
                          const AnalyzeFilesOptions& options);

}  // namespace nadi
