#include "nadi/cli/prediction_flags.h"

#include "nadi/base/error.h"
#include "nadi/cli/cluster_flag.h"
#include "nadi/cli/computation_choices.h"
#include "nadi/model/compute_dtypes.h"

namespace nadi::inline show {

void add_prediction_flags(Flags& flags) {
  flags.add({.names = {"--collective"},
             .value = "ALGORITHM",
             .help = "how collectives run; auto: the fastest, as NCCL chooses",
             .fallback = "auto",
             .choices = collective_algorithm_names(),
             .group = "hardware"});
  flags.add({.names = {"--layer-times"},
             .value = "FILE",
             .help = "measured forward times of layers in place of the model's: a CSV with the columns file "
                     "(MODEL_DEVICE_TP) and all_values (embedding, layers, head, in seconds per sequence)",
             .fallback = "none",
             .group = "hardware"});
  flags.add({.names = {"--grad-reduce-dtype"},
             .value = "TYPE",
             .help = "in which gradients are reduced over ranks; training",
             .fallback = "fp16 with --dtype fp16, else fp32, as Megatron-LM does",
             .choices = dtype_names(),
             .group = "training"});
}

CollectiveAlgorithm given_collective(const Flags& flags) {
  const auto choice = flags.choice("--collective");
  return choice ? static_cast<CollectiveAlgorithm>(*choice) : CollectiveAlgorithm::kAuto;
}

// Nobody trains in fp32 on a GPU that computes faster in 16 bits; fp16 is the type that all of them have.
void use_default_dtype(const Flags& flags, const Cluster& cluster, std::int64_t devices, ResolvedStep& step) {
  if (flags.given("--dtype") || flags.given("--fp8")) return;
  for (std::int64_t number = 0; number < devices; ++number) {
    const DeviceSpec& device = cluster.device(DeviceId{static_cast<std::int32_t>(number)});
    if (device.type != DeviceType::kGpu || device.peak(DType::kF16) <= device.peak(DType::kF32)) return;
  }
  step.request.dtype = DType::kF16;
  for (Setting& setting : step.settings)
    if (setting.key == "dtype") setting.value = name_of(DType::kF16);
}

DType gradient_dtype(const Flags& flags, const StepRequest& request) {
  if (const auto choice = flags.choice("--grad-reduce-dtype")) return kDTypes[*choice].second;
  return request.dtype == DType::kF16 ? DType::kF16 : DType::kF32;
}

Cluster wanted_cluster(const Flags& flags, const std::string& missing) {
  if (auto cluster = given_cluster(flags)) return *std::move(cluster);
  throw usage_error(missing, "name it with --cluster; 'nadi clusters' lists what is known");
}

}  // namespace nadi::inline show
