// Which kernel computes an attention op: few queries have one of their own, cuDNN takes most of bf16 and fp16
// without dropout, and the tensor cores the rest of them. What remains, fp32 and rows that are not aligned,
// is computed in fp32 arithmetic.
#include "nadi/cuda/attention_launch.h"
#include "nadi/cuda/attention_scratch.h"
#include "nadi/cuda/cudnn_attention.h"
#include "nadi/cuda/kernels.h"

namespace nadi::inline engines::cuda {

void attention_kernel(const KernelCall& call) {
  const AttentionForward forward = attention_forward_operands(call.op());
  const DeviceTraits& traits = call.device.traits();
  auto* const partial_results = reinterpret_cast<float*>(call.workspace.data());
  CudnnAttention* const cudnn = call.device.attention();
  if (!launch_short_cache(forward, call.device, call.stream) &&
      !launch_few_queries(forward, partial_results, call.device, call.stream)) {
    if (cudnn != nullptr && cudnn->run_forward(call)) return;
    if (!launch_tensor_core_forward(forward, traits, call.stream))
      launch_attention_forward(forward, traits, call.stream);
  }
  check_launch(call);
}

void attention_grad_kernel(const KernelCall& call) {
  CudnnAttention* const cudnn = call.device.attention();
  if (cudnn != nullptr && cudnn->run_gradient(call)) return;
  const AttentionGradient gradient = attention_gradient_operands(call.op());
  const DeviceTraits& traits = call.device.traits();
  const AttentionScratch scratch(call.op().op);
  auto* const sums = reinterpret_cast<float*>(call.workspace.data());
  auto* const kept = reinterpret_cast<std::uint16_t*>(call.workspace.data() + scratch.sums);
  launch_gradient_sums(gradient, sums, call.stream);
  if (!launch_tensor_core_gradient(gradient, {.sums = sums, .kept = kept}, traits, call.stream))
    launch_attention_gradient(gradient, sums, traits, call.stream);
  check_launch(call);
}

}  // namespace nadi::inline engines::cuda
