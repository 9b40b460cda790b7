// A workload as text, layer by layer, as ASTRA-sim 1 read it and as AICB writes it for SimAI:
//
//   HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 32 checkpoints: 0 ...
//   2                                                       <- number of layers
//   attention -1 556000 ALLREDUCE 16777216 556000 ALLREDUCE 16777216 556000 ALLREDUCE 3355443 100
//   mlp       -1 ...
//
// The first line says how layers are spread over ranks, and more about some kinds. A layer is its name, a
// number that nobody reads, and for each of forward, gradient of the input and gradient of the weights a time
// in nanoseconds and a collective with its size in bytes; at last what a collective takes on top. What these
// mean as work of a rank: layer_workload_trace.h.
//
//   if (is_layer_workload(file)) const LayerWorkload workload = read_layer_workload(file);
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/trace/node_type.h"

namespace nadi::inline traces {

enum class WorkloadKind : std::uint8_t {
  kMicro,
  kData,
  kModel,
  kDataModel,  // model parallel within the innermost dimension of the network, data parallel across
  kModelData,  // the other way round
  kTransformer,
  kTransformerRecompute,
  kDlrm,
  kDlrmEnhanced,
  kInference,
  kCustomized,  // each layer names its own
};
std::string_view to_string(WorkloadKind kind);  // "HYBRID_TRANSFORMER"

// Who takes part in a collective.
enum class WorkloadGroup : std::uint8_t {
  kNone,         // nobody: the collective is not carried out
  kAll,          // all ranks
  kModel,        // those that share the work of a layer
  kData,         // those with the same part of the model
  kExpert,       // those that share experts: consecutive members of a data group
  kExpertsData,  // those with the same experts
};

struct LayerPart {
  Nanoseconds compute;
  std::optional<CollectiveType> type = {};  // nothing: NONE
  WorkloadGroup group = WorkloadGroup::kNone;
  Bytes size = {};
};

struct WorkloadLayer {
  std::string name;
  LayerPart forward, input_gradient, weight_gradient;
  Nanoseconds update;                        // after each collective
  WorkloadKind kind = WorkloadKind::kMicro;  // that of the file, but of kCustomized
};

struct LayerWorkload {
  std::string file;
  WorkloadKind kind = WorkloadKind::kMicro;
  std::vector<WorkloadLayer> layers;
  std::int64_t model_group = 0;  // ranks that share a layer; 0 means not said
  std::int64_t expert_group = 1;
  std::int64_t stages = 1;            // of a pipeline; the layers are those of one
  std::optional<std::int64_t> ranks;  // of all stages
  // For kTransformerRecompute: layers that keep what goes into them, and those whose backward begins with the
  // forward since the last of these.
  std::vector<std::int64_t> checkpoints = {}, recomputed_from = {};
  std::int64_t last_bottom_layer = -1;  // of DLRM
  // AICB writes the size of what an all-gather makes; ASTRA-sim 1 takes what a rank puts in.
  bool gathers_are_whole = false;
  std::int64_t ignored_words = 0;  // behind the last value of a layer
};

// By the first word; plain text only.
bool is_layer_workload(const std::filesystem::path& file);
// Throws Error (input) with line and column.
LayerWorkload read_layer_workload(const std::filesystem::path& file);

}  // namespace nadi::inline traces
