// A plan on disk: what `nadi plan --emit` writes, and what train, launch, trace, show and simulate take with
// --plan.
//
//   const PlanFile file = plan_file_of(question, answer.plans[0], {.model = "gpt2-xl", .cluster =
//   "a10-8x4"}); write_plan_file(file, "plan.json", Overwrite::kRefuse); const PlanFile again =
//   read_plan_file("plan.json");                   // equal check_plan_file(again, "plan.json",
//   load_model_config(again.model));  // does the plan fit its model?
//
// The format is JSON with a schema: plan_schema(). In short:
//
//   {
//     "nadi_plan": 1,                                                     // version of the format
//     "model": "gpt2-xl",
//     "step": {"seq_length": 1024, "global_batch_size": 64, "micro_batch_size": 1, "dtype": "fp16"},
//     "plan": {"dp": 4, "pp": 8, "partition": [0, 11, 8, 8, 8, 8, 5, 0]},
//     "cluster": "a10-8x4",
//     "devices": "0-31",                                                  // of the cluster, by rank
//     "predicted": {"step_time": "1.43 s", "memory": "17 GiB", "cost": "0.031 $"}
//   }
//
// Keys that are left out have the defaults of PlanFile. Unknown keys are Error (input) with their place and
// the nearest key; so are values out of bounds, and batches that do not divide.
//
// `model` and `cluster` are names, or paths: a text with a '/' or one that ends in .json or .yml is a path.
// In the file, a path is absolute or relative to the folder of the file; in PlanFile it is one that this
// process can open. So a plan file and the files that it names can be moved together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/atomic_file.h"
#include "nadi/base/units.h"
#include "nadi/cluster/cluster.h"
#include "nadi/graph/dtype.h"
#include "nadi/graph/gradient.h"
#include "nadi/graph/optimizer.h"
#include "nadi/model/model_config.h"
#include "nadi/parallel/plan.h"
#include "nadi/parallel/step_program.h"
#include "nadi/sim/framework.h"
#include "nadi/sim/simulation.h"

namespace nadi::inline predict {

struct PlanQuestion;
struct RankedPlan;

// What the planner expected. Readers keep it and check it against nothing.
struct PlanPrediction {
  std::optional<Nanoseconds> step_time = {};
  std::optional<Bytes> memory = {};    // of the fullest device
  std::optional<double> dollars = {};  // of a step
  // What the prediction assumed: `nadi simulate --plan` assumes the same unless it is told otherwise.
  std::string framework = {};                // "": not said
  std::optional<DType> gradient_dtype = {};  // in which gradients are reduced
  std::string collective = {};               // an algorithm; "": the fastest
  std::string layer_times = {};              // a file; as `model` relative in the file and opened here
  bool operator==(const PlanPrediction&) const = default;
};

struct PlanFile {
  std::string model;  // a built-in name, or the path of a configuration or of a checkpoint folder
  std::int64_t seq_length = 1;
  std::int64_t global_batch_size = 1;  // sequences of a step, on all data-parallel ranks
  std::int64_t micro_batch_size = 1;
  DType dtype = DType::kF32;
  bool fp8 = false;
  bool fused_attention = true;
  Recompute recompute = {};
  OptimizerKind optimizer = OptimizerKind::kAdamW;
  Plan plan = {};                      // micro_batches follow from the batch
  std::string cluster = {};            // what load_cluster() takes; "": none
  std::vector<DeviceId> devices = {};  // of the cluster, by rank; empty means rank r on device r
  PlanPrediction predicted = {};
};

// How the user named what the question holds.
struct PlanFileNames {
  std::string model;
  std::string cluster;
  std::string layer_times = {};
};

// The prediction is the simulator's where it simulated the plan, else the estimate.
PlanFile plan_file_of(const PlanQuestion& question, const RankedPlan& ranked, const PlanFileNames& names);

// Error (input) for what is wrong with the file. Whether the plan fits its model is for check_plan_file() to
// say, and whether the cluster has the devices for check_devices().
PlanFile read_plan_file(const std::filesystem::path& path);
PlanFile parse_plan_file(std::string text, const std::filesystem::path& path);

// The step of a data-parallel rank, and the plan for it.
StepRequest request_of(const PlanFile& file);

// What trains, by its prediction.
const Framework& assumed_framework(const PlanFile& file);
// What its prediction assumed, for simulate_step(): overlap, type of gradients, collectives, measured layers. What the
// file does not say is what a prediction assumes by itself. Error as LayerTimes::read() throws.
SimulationOptions assumed_options(const PlanFile& file, const ModelConfig& config);

// Error (input), which names the file, where the step cannot be built: layers that do not add up, heads that
// do not divide, sequences that are too long.
void check_plan_file(const PlanFile& file, const std::filesystem::path& path, const ModelConfig& config);

// By rank, also where the file names none.
std::vector<DeviceId> placed_devices(const PlanFile& file);
// The same. Error (input) where the cluster does not have one of them.
std::vector<DeviceId> check_devices(const PlanFile& file, const std::filesystem::path& path,
                                    const Cluster& cluster);

// `path` is where the text will lie: paths in it are relative to that folder.
std::string plan_file_text(const PlanFile& file, const std::filesystem::path& path);
void write_plan_file(const PlanFile& file, const std::filesystem::path& path, Overwrite overwrite);

// The JSON schema of the format, as a text.
std::string_view plan_schema();

}  // namespace nadi::inline predict
