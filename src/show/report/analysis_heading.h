// What an analysis is of: its files, how much is in them, and what was taken for granted.
#pragma once

#include <string>
#include <vector>

namespace nadi::inline traces {
struct RunAnalysis;
}  // namespace nadi::inline traces

namespace nadi::inline show {

struct AnalysisHeading {
  std::string title = {};               // "2 ranks, out/run.0.et to out/run.1.et"
  std::vector<std::string> lines = {};  // "6 nodes, step 4, 50.0 us" and what else there is to say
};

// The run has at least one rank.
AnalysisHeading analysis_heading(const RunAnalysis& run);

}  // namespace nadi::inline show
