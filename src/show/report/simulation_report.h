// A simulated step as text and as JSON: `nadi simulate`.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "nadi/base/json.h"
#include "nadi/prediction/simulation_question.h"
#include "nadi/tables/report_style.h"

namespace nadi::inline show {

struct SimulationView {
  std::string subject;  // the model, or the traces
  const Cluster& cluster;
  const SimulationResult& result;
  const PredictionAssumptions& assumed;
  const ResolvedStep* step = nullptr;  // nullptr means of traces
  SimulationFigures figures = {};
  std::vector<WhatIfAnswer> what_if = {};
  std::optional<Nanoseconds> measured = {};  // what the user says that it took
};

SimulationView view_of(const SimulationAnswer& answer);
SimulationView view_of(const TraceSimulationAnswer& answer);

Json simulation_json(const SimulationView& view);
void print_simulation(const SimulationView& view, std::ostream& out, const ReportStyle& style);

// "out of memory: rank 3 (a10) needs 30.1 GiB of 22.2 GiB, first at 1.20 s; at the peak: ..."; "" where
// everything fits.
std::string out_of_memory_text(const SimulationView& view);

// "1 micro-batch for 8 stages: ..., set --micro-batch-size ..."; "" where stages have enough of them.
std::string few_micro_batches_text(const SimulationView& view);

}  // namespace nadi::inline show
