// Predicted traces as Chakra files: the nodes of a step, or of traces that were simulated, with the times of
// the simulation.
//
//   write_simulated_step(programs, result, "predicted", {});              // predicted.0.et, ... and groups
//   write_simulated_traces(files, result, "predicted", {});
//
// Nodes, dependencies and attributes are those of the dry trace, or of the files; a step's nodes have `step`
// 0, and its files the rank's `stage`. Receives and collectives of a step begin when the rank comes to them,
// as in the trace of a run: the time until their data moves is waiting. Files appear when all are complete;
// existing ones are refused unless overwriting is allowed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "nadi/analysis/run_reading.h"
#include "nadi/base/atomic_file.h"
#include "nadi/parallel/stage_programs.h"
#include "nadi/sim/simulation.h"

namespace nadi::inline predict {

struct SimulatedFileOptions {
  Overwrite overwrite = Overwrite::kRefuse;
  std::vector<Rank> ranks = {};  // which to write; empty means all
  std::vector<std::pair<std::string, std::string>> metadata = {};
  // Called now and then until the first file has its name, with the files done and all; may throw to stop:
  // then there are none.
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};
};

struct SimulatedFileReport {
  std::int64_t files = 0;
  std::int64_t nodes = 0;
  std::filesystem::path groups_file = {};  // empty when there is none
};

// The result must have the times of nodes (SimulationOptions::keep_times).
SimulatedFileReport write_simulated_step(const StagePrograms& programs, const SimulationResult& result,
                                         const std::filesystem::path& prefix,
                                         const SimulatedFileOptions& options);

// `files` as given to read_trace_set(), which are read once more.
SimulatedFileReport write_simulated_traces(const std::vector<std::filesystem::path>& files,
                                           const RunReadingOptions& reading, const SimulationResult& result,
                                           const std::filesystem::path& prefix,
                                           const SimulatedFileOptions& options);

}  // namespace nadi::inline predict
