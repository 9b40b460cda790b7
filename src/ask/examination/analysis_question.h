// Where the time of a run went, or what changed from another run: what `nadi analyze` is asked.
//
//   const AnalysisAnswer answer = analyze({.files = {"run_rank*_device.json"}});
//   answer.run.steps, answer.before
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nadi/analysis/analyze_files.h"
#include "nadi/base/units.h"

namespace nadi::inline ask {

struct AnalysisQuestion {
  std::vector<std::string> files = {};          // or patterns, or the start of the names of all ranks' traces
  std::vector<std::string> against = {};        // of an earlier run: what changed from it
  std::optional<std::int64_t> step = {};        // this one only
  std::optional<Nanoseconds> kernel_gap = {};   // else IdleOptions::kernel_gap
  std::optional<std::int64_t> full_queue = {};  // else LaunchOptions::full_queue
  std::string kinds = {};                       // a file of kinds of kernels (KindPatterns::from_file)
  bool picture = false;                         // what a page draws, too
  RunReadingOptions reading = {};
};

struct AnalysisAnswer {
  RunAnalysis run;
  std::optional<RunAnalysis> before = {};
};

// Error as analyze_files() and KindPatterns::from_file() throw.
AnalysisAnswer analyze(const AnalysisQuestion& question);

}  // namespace nadi::inline ask
