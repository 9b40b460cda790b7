// A simulated step as text and as JSON: `nadi simulate`.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "nadi/base/json.h"
#include "nadi/report/simulation_figures.h"
#include "nadi/sim/framework.h"
#include "nadi/tables/report_style.h"

namespace nadi::inline show {

// The same step with a changed cluster.
struct WhatIfResult {
  std::string change;  // "link.nvlink.bandwidth=2x"
  Nanoseconds iteration_time = {};
  std::optional<double> dollars_per_step = {};
};

struct SimulationView {
  std::string subject;  // the model, or the traces
  const Cluster& cluster;
  const SimulationResult& result;
  const ResolvedStep* step = nullptr;  // nullptr means of traces
  SimulationFigures figures = {};
  std::string layer_times = {};              // the file that has them; "" for none
  std::optional<DType> gradient_dtype = {};  // in which gradients are reduced
  const Framework* framework = nullptr;      // nullptr means of traces, and where nothing is trained
  std::vector<WhatIfResult> what_if = {};
  std::optional<Nanoseconds> measured = {};  // what the user says that it took
};

Json simulation_json(const SimulationView& view);
void print_simulation(const SimulationView& view, std::ostream& out, const ReportStyle& style);

// "out of memory: rank 3 (a10) needs 30.1 GiB of 22.2 GiB, first at 1.20 s; at the peak: ..."; "" where
// everything fits.
std::string out_of_memory_text(const SimulationView& view);

// "1 micro-batch for 8 stages: ..., set --micro-batch-size ..."; "" where stages have enough of them.
std::string few_micro_batches_text(const SimulationView& view);

}  // namespace nadi::inline show
