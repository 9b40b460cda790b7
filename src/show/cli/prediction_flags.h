// Flags and defaults of the commands that predict steps on a cluster: `simulate` and `plan`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nadi/cluster/cluster.h"
#include "nadi/command_line/flags.h"
#include "nadi/graph/dtype.h"
#include "nadi/report/resolved_step.h"
#include "nadi/sim/network_schedule.h"

namespace nadi::inline show {

// What help says of --dtype.
inline constexpr const char* kPredictedDtypeFallback = "fp16 on GPUs, which all have it; fp32 on CPUs";

// --collective, --layer-times and --grad-reduce-dtype.
void add_prediction_flags(Flags& flags);

CollectiveAlgorithm given_collective(const Flags& flags);

// The type of a step for which the command line names none: fp16 where all of the first `devices` devices are
// GPUs that compute faster in it.
void use_default_dtype(const Flags& flags, const Cluster& cluster, std::int64_t devices, ResolvedStep& step);

// --grad-reduce-dtype, else as Megatron-LM: with --fp16 gradients are fp16, with --bf16 they are summed in
// fp32.
DType gradient_dtype(const Flags& flags, const StepRequest& request);

// --cluster, which must be given. Error (usage) that says what it is for: "no hardware to simulate".
Cluster wanted_cluster(const Flags& flags, const std::string& missing);

}  // namespace nadi::inline show
