// Published steps as Nadi runs them: the model, the request, the plan, the cluster and the habits of the
// framework of each row, with the time that was measured.
//
//   const PublishedRows rows = read_published_rows(folder);     // vtrain_single_node.csv,
//   iteration_times.csv for (const PublishedRow& row : rows.rows) ...
//
// What the sources do not state is filled in here, once per source:
//   - vTrain, one node: 8 A100 with NVSwitch, no recomputation (the figures are linear in layers and
//     micro-batches, and a stage costs three times its forward pass), vocabulary 51,200; framework
//     megatron-2021 (sim/framework.h).
//   - vTrain, many nodes: the same, with full recomputation as stated and 800 Gbit/s between nodes (vTrain's
//     configuration files).
//   - Megatron-LM of SC21: the same, on DGX A100 with eight cards of 200 Gbit/s.
//   - Korthikanti et al.: the same, with the framework megatron-2022: tensor-parallel collectives of the
//     backward pass run beside the gradients of the weights.
#pragma once

#include <string>
#include <vector>

#include "nadi/cluster/cluster.h"
#include "nadi/model/model_config.h"
#include "nadi/parallel/plan.h"
#include "nadi/parallel/step_program.h"
#include "nadi/sim/simulation.h"

namespace nadi {

struct PublishedRow {
  std::string source;  // "vTrain, one node"
  int line = 0;        // of its file
  ModelConfig config;
  StepRequest request;
  Plan plan;
  Cluster cluster;
  OverlapOptions overlap;
  double measured_s = 0;
  Bytes measured_memory = {};  // of the fullest rank; 0: not stated
};

struct LeftOut {
  std::string source;
  std::string reason;
  int rows = 0;
};

struct PublishedRows {
  std::vector<PublishedRow> rows;
  std::vector<LeftOut> left_out;
};

inline constexpr std::string_view kVTrainOneNode = "vTrain, one node";
inline constexpr std::string_view kVTrainManyNodes = "vTrain, many nodes";
inline constexpr std::string_view kMegatronSC21 = "Megatron-LM SC21";
inline constexpr std::string_view kKorthikanti = "Korthikanti et al.";

// Error (input) where a file is not what it should be; environment where it is not there.
PublishedRows read_published_rows(const std::string& folder);

}  // namespace nadi
