// Programs that train, as far as they differ in how they run the same step.
//
//   const Framework& framework = *find_framework("megatron-2022");
//   request.fused_attention = framework.fused_attention.value_or(true);
//   request.layout = framework.layout;
//   options.overlap = framework.overlap;
//
// The table is the only place that knows what they do:
//   - nadi: what the dependencies of a program allow; attention as it is asked for, or as it runs on the cluster.
//   - megatron-2021: Megatron-LM as in the paper of SC 2021. Scores of attention go through memory.
//     Collectives of tensor parallelism stop the computation. Stages
//     exchange messages in batches and call cudaDeviceSynchronize() after each, so that device and host stand
//     still until they have arrived; each tensor-parallel rank sends its part, which the receivers gather.
//     Gradients are reduced when the last backward has ended, all at once.
//   - megatron-2022: the same, but collectives of the backward pass run beside the gradients of weights
//     (LinearWithGradAccumulationAndAsyncCommunication).
//   - megatron: Megatron-Core as it is run from 2024 on, with --overlap-grad-reduce and
//     --overlap-param-gather: buckets of gradients are reduced beside the backward pass, and parameters that the
//     distributed optimizer has updated are gathered beside the forward pass of the next step. Buckets are those of
//     BucketRule::kMegatron. Stages exchange messages as before, but in interleaved pipelines they run beside the
//     computation.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "nadi/parallel/parameter_layout.h"
#include "nadi/sim/simulation.h"

namespace nadi::inline predict {

struct Framework {
  std::string_view name;
  std::string_view summary;                  // one line
  std::optional<bool> fused_attention = {};  // nullopt: takes any
  OverlapOptions overlap = {};
  LayoutRules layout = {};  // of parameters, gradients and optimizer state
};

// Nadi first.
std::span<const Framework> frameworks();
const Framework* find_framework(std::string_view name);  // nullptr means none has this name

// In which gradients are reduced in training of this type where nothing is asked for: as Megatron-LM does.
DType default_gradient_dtype(DType dtype);

}  // namespace nadi::inline predict
