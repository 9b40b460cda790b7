// Reads the traces of a run, one file after the other (run_reading.h), and analyses them.
//
//   const RunAnalysis run = analyze_files(files, {.analysis = {.step = 3}, .reading = {.lenient = true}});
#pragma once

#include <filesystem>
#include <vector>

#include "nadi/analysis/run_analysis.h"
#include "nadi/analysis/run_reading.h"

namespace nadi::inline traces {

struct AnalyzeFilesOptions {
  AnalysisOptions analysis = {};  // `groups` are those that the files name
  RunReadingOptions reading = {};
};

// Throws Error as read_run() and add_rank() do.
RunAnalysis analyze_files(const std::vector<std::filesystem::path>& files,
                          const AnalyzeFilesOptions& options);

}  // namespace nadi::inline traces
