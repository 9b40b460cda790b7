// What a simulated step means to its user: throughput, utilization, money, energy.
//
//   const SimulationFigures figures = simulation_figures(result, cluster, work);
//   figures.tokens_per_second
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "nadi/base/rates.h"
#include "nadi/base/units.h"
#include "nadi/cluster/cluster.h"
#include "nadi/graph/dtype.h"
#include "nadi/model/model_config.h"
#include "nadi/parallel/plan.h"
#include "nadi/parallel/step_program.h"
#include "nadi/sim/simulation.h"

namespace nadi::inline ask {

// What a step does, on all ranks together.
struct SimulatedWork {
  std::int64_t samples = 0;  // sequences
  std::int64_t tokens = 0;   // trained on; of generating, made
  // Matrix products of the forward and the backward pass, without those that are recomputed: what utilization
  // counts.
  double model_flops = 0;     // more than 63 bits on many ranks
  DType dtype = DType::kF32;  // of most of these products
};
SimulatedWork step_work(const ModelConfig& config, const StepRequest& request, const Plan& plan);

struct SimulationFigures {
  double iteration_seconds = 0;
  std::optional<double> samples_per_second = {}, tokens_per_second = {};
  std::optional<double> model_flops_utilization = {};  // of the peak of all devices in use
  // Price of the nodes in use: a node is paid as a whole. Nothing where a price is not known.
  std::optional<double> dollars_per_hour = {}, dollars_per_step = {}, dollars_per_million_tokens = {};
  // With all devices in use under full load, so at most this.
  std::optional<double> watts = {}, joules_per_step = {};
};
// `work`: nullptr of traces, which do not say. `placement` is by rank; empty means rank r on device r.
SimulationFigures simulation_figures(const SimulationResult& result, const Cluster& cluster,
                                     const SimulatedWork* work, std::span<const DeviceId> placement = {});

}  // namespace nadi::inline ask
