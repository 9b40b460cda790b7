// The attention kernels of our own, as attention_kernels.cpp chooses among them: each takes some problems,
// and says so. They enqueue on the stream and allocate nothing; errors of launches are the caller's to look
// for.
//
//   if (!launch_few_queries(...) && !launch_tensor_core_forward(...)) launch_attention_forward(...);
#pragma once

#include <cuda_runtime_api.h>

#include "nadi/cuda/attention_operands.h"
#include "nadi/cuda/device.h"

namespace nadi::inline engines::cuda {

// Widest head that the kernels take.
inline constexpr std::int64_t kMostHeadWidth = 256;

// Any problem, in fp32 arithmetic (attention_forward.cu, attention_gradient.cu).
void launch_attention_forward(const AttentionForward& forward, const DeviceTraits& traits,
                              cudaStream_t stream);
// `sums`: of y * dy per query, [B, H, T], by launch_gradient_sums().
void launch_attention_gradient(const AttentionGradient& gradient, const float* sums,
                               const DeviceTraits& traits, cudaStream_t stream);
void launch_gradient_sums(const AttentionGradient& gradient, float* sums, cudaStream_t stream);

// bf16 and fp16 on tensor cores, heads up to 128 wide whose rows are aligned to 16 bytes; false, and nothing
// was done, for others (tensor_core_forward.cu, tensor_core_gradient.cu).
bool launch_tensor_core_forward(const AttentionForward& forward, const DeviceTraits& traits,
                                cudaStream_t stream);
struct TensorCoreScratch {
  const float* sums = nullptr;    // as launch_attention_gradient() has them
  std::uint16_t* kept = nullptr;  // room for KeptBits (attention_scratch.h) where there is dropout
};
bool launch_tensor_core_gradient(const AttentionGradient& gradient, const TensorCoreScratch& scratch,
                                 const DeviceTraits& traits, cudaStream_t stream);

// Few queries with a cache of keys and values: reading the cache is what takes the time
// (few_queries_kernel.cu). `partial_results`: as many bytes as few_queries_workspace() says.
bool launch_few_queries(const AttentionForward& forward, float* partial_results, const Device& device,
                        cudaStream_t stream);
// The same with a cache that is short, where waiting is what takes the time (short_cache_kernel.cu).
bool launch_short_cache(const AttentionForward& forward, const Device& device, cudaStream_t stream);

}  // namespace nadi::inline engines::cuda
