// How long a step takes on described hardware: what `nadi simulate` is asked of a model.
//
//   const SimulationAnswer answer = simulate({.step = {.model = "gpt2", .plan = {.dp = 8}}, .on = {.cluster = "dgx-a100"}});
//   answer.result.iteration_time, answer.figures.tokens_per_second, answer.asked.assumed.fused_attention
//
// The same words give the same answer as on the command line, to the nanosecond.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nadi/cluster/cluster.h"
#include "nadi/parallel/stage_programs.h"
#include "nadi/prediction/assumptions.h"
#include "nadi/prediction/simulation_figures.h"
#include "nadi/sim/simulated_files.h"
#include "nadi/sim/simulated_traces.h"
#include "nadi/sim/simulation.h"
#include "nadi/step/step_question.h"

namespace nadi::inline ask {

// How detailed a simulation is, and what is unusual in it.
struct SimulationConditions {
  NetworkDetail network = NetworkDetail::kAnalytical;
  std::vector<SlowRank> slow = {};
  std::vector<LinkFault> faults = {};
  Jitter jitter = {};
  bool symmetry = true;                   // of ranks that do the same at the same time, one is simulated
  bool links = true;                      // what goes through each link, too
  std::vector<std::string> what_if = {};  // changes of the cluster (what_if.h); each is simulated by itself
};

struct SimulationQuestion {
  StepQuestion step = {};
  PredictionQuestion on = {};
  SimulationConditions conditions = {};
  std::vector<DeviceId> placement = {};  // by rank; empty means rank r on device r
};

// Every default decided.
struct ResolvedSimulation {
  ResolvedStep step;
  Cluster cluster;  // as its ranks see it
  PredictionAssumptions assumed;
  SimulationOptions options;
  std::vector<std::string> what_if;
};

// The same step with a changed cluster.
struct WhatIfAnswer {
  std::string change;  // "link.nvlink.bandwidth=2x"
  Nanoseconds iteration_time = {};
  std::optional<double> dollars_per_step = {};
};

struct SimulationAnswer {
  ResolvedSimulation asked;
  std::unique_ptr<const StagePrograms> programs;  // whose ops the times of the result are of
  SimulationResult result;
  SimulatedWork work;
  SimulationFigures figures;
  std::vector<WhatIfAnswer> what_if;
};

// Error (usage) as resolve_step() and assume() throw; (infeasible) where the cluster has fewer devices than the plan
// has ranks.
ResolvedSimulation resolve(const SimulationQuestion& question);
SimulationAnswer simulate(ResolvedSimulation asked);
SimulationAnswer simulate(const SimulationQuestion& question);

// The same as Chakra traces: PREFIX.0.et and so on, with model, step and plan in their metadata.
SimulatedFileReport write_predicted_traces(const SimulationAnswer& answer,
                                           const std::filesystem::path& prefix,
                                           SimulatedFileOptions options = {});

// Whether words name traces: one word that is no file with a trace is a model, and its mistakes are those of a model.
bool name_traces(const std::vector<std::string>& words);

// Traces of a run on described hardware: what `nadi simulate` is asked of files.
struct TraceSimulationQuestion {
  std::vector<std::string> files = {};  // or patterns, or the start of the names of all ranks' traces
  RunReadingOptions reading = {};
  PredictionQuestion on = {};  // no framework, type of gradients or layer times: traces have theirs
  SimulationConditions conditions = {};
  std::optional<std::int64_t> ranks = {};  // so many run the traces; else those that the traces are of
  std::string degrees = {};      // "tp=2,pp=4" of the recorded run, for `ranks`; else what the traces say
  std::string recorded_on = {};  // a device of the catalogue: ops of unknown shape are scaled by the ratio
  // Else those that were recorded; those of the model where the traces were recorded on another device than that
  // of the cluster, which says nothing of this one's time.
  std::optional<TraceDurations> durations = {};
};

struct TraceSimulationAnswer {
  std::string subject;  // the file, or "8 traces"
  Cluster cluster;      // as the ranks see it
  PredictionAssumptions assumed;
  SimulationResult result;
  SimulationFigures figures;
  std::vector<WhatIfAnswer> what_if;
};

// Ranks that the traces are of.
std::int64_t recorded_ranks(const TraceSet& traces);
TraceSimulationAnswer simulate(const TraceSimulationQuestion& question);
// The same of traces that were read already: `question.files` name them.
TraceSimulationAnswer simulate(const TraceSet& traces, const TraceSimulationQuestion& question);

}  // namespace nadi::inline ask
