// What a search for plans is asked: a model, a step, a cluster, and which plans may be taken.
//
//   PlanQuestion question{.config = *find_built_in_model("gpt2-xl"), .cluster = read_cluster("a100x1-a10x7")};
//   question.global_batch_size = 64;
//   const PlanAnswer answer = search_plans(question, {});          // plan_search.h
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/cluster/cluster.h"
#include "nadi/graph/gradient.h"
#include "nadi/model/model_config.h"
#include "nadi/parallel/plan.h"
#include "nadi/parallel/step_program.h"
#include "nadi/sim/layer_times.h"
#include "nadi/sim/simulation.h"

namespace nadi::inline predict {

// Which plans may be taken. An empty list leaves the choice to the search: every value that fits.
struct PlanSpace {
  std::vector<std::int64_t> tp = {}, dp = {}, pp = {};
  std::vector<std::int64_t> micro_batch_sizes = {};
  std::vector<std::int64_t> virtual_stages = {};
  std::vector<std::int64_t> zero_stages = {};
  std::vector<bool> sequence_parallel = {};
  std::vector<Recompute> recompute = {};
  std::vector<ScheduleKind> schedules = {};
  std::vector<std::int64_t> partition = {};  // this one only, for plans with as many stages
  bool uneven_partitions = true;             // else the even one alone
  bool unused_devices = true;                // plans may leave nodes, or devices of nodes, unused
  // Partitions of interleaved plans. Where those of a setting, times the orders of its stages, are fewer than
  // this, all are in the space. Elsewhere those are in which the layers of each stage are spread evenly over
  // its chunks, the fuller ones first: how many layers a stage has is free, and so is the order of stages.
  std::int64_t few_partitions = 20'000;
};

enum class PlanObjective : std::uint8_t {
  kTime,    // the shortest step
  kCost,    // the cheapest step
  kMemory,  // the least memory on the fullest device; the faster of equals
};

// What a plan must keep to. Memory of the devices is one always.
struct PlanLimits {
  std::optional<double> dollars_per_million_tokens = {};
  std::optional<Nanoseconds> step_time = {};
  // Of each device's memory. A CUDA context and NCCL's buffers take one to three of the 80 GiB of a GPU.
  double memory_share = 0.95;
};

struct PlanQuestion {
  ModelConfig config;
  std::optional<double> dropout =
      {};  // that was asked for in place of the model's own; the configuration has it
  // The step without what plans decide: batch_size and recompute are of no account here.
  StepRequest request = {};
  std::int64_t global_batch_size = 1;  // sequences of a step, on all data-parallel ranks
  Cluster cluster;
  std::optional<LayerTimes> layer_times = {};  // measured, instead of the model's
  std::string_view framework = "nadi";  // whose overlap it is (sim/framework.h): its name, for plan files
  OverlapOptions overlap = {};
  CollectiveAlgorithm collective = CollectiveAlgorithm::kAuto;
  PlanSpace space = {};
  PlanObjective objective = PlanObjective::kTime;
  PlanLimits limits = {};
};

}  // namespace nadi::inline predict
