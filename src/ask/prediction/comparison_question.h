// A measured run against its prediction: what `nadi compare` is asked.
//
//   const ComparisonAnswer answer = compare({.files = {"run.0.et", "run.1.et"}, .on = {.cluster = "me.json"}});
//   answer.result.median_error, answer.iteration_error()
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "nadi/analysis/run_reading.h"
#include "nadi/base/units.h"
#include "nadi/cluster/cluster.h"
#include "nadi/prediction/assumptions.h"
#include "nadi/sim/measured_comparison.h"
#include "nadi/sim/simulation.h"

namespace nadi::inline ask {

struct ComparisonQuestion {
  std::vector<std::filesystem::path> files = {};  // traces of the ranks of one run, with times
  PredictionQuestion on = {};                     // the cluster alone
  // Count steps that were disturbed (sim/disturbed_steps.h), too. Where all were, all count.
  bool all_steps = false;
  std::size_t top = 10;  // largest differences that are listed
  RunReadingOptions reading = {};
};

struct ComparisonAnswer {
  ComparisonResult result;
  Cluster cluster;
  std::int64_t ranks = 1;
  Nanoseconds predicted_iteration = {};
  TimeSourceCounts sources = {};
  std::int64_t steps = 1;      // that were compared
  std::int64_t disturbed = 0;  // of those that the traces hold
  std::int64_t left_out = 0;   // of the disturbed ones
  bool never_quiet = false;    // every step was disturbed: measured times are too long
  std::vector<ComparedRank> compared;

  // Predicted over measured, less 1.
  double iteration_error() const;
};

// Error (input) for traces without times or without computation; (infeasible) for a cluster with fewer devices than
// there are ranks.
ComparisonAnswer compare(const ComparisonQuestion& question);

}  // namespace nadi::inline ask
