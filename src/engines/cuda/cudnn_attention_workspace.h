// Which attention ops cuDNN computes, and what it needs for that: known without CUDA, so that a run can be
// planned for a GPU that is not there.
#pragma once

#include <cstdint>

#include "nadi/cuda/device_traits.h"

namespace nadi::inline describe {
struct OpView;
}  // namespace nadi::inline describe

namespace nadi::inline engines {}

namespace nadi::inline engines::cuda {

// By types, shapes and attributes of the op; at run time addresses must be multiples of 16, too. bf16 and
// fp16 without dropout, each query at the position that its row says, no few tokens; gradients are not added
// to what is there. Lengths must be 1 or more, as those of batches are: a sequence without keys gives NaN.
bool cudnn_takes_attention(const OpView& op, const DeviceTraits& traits);

// Bytes of workspace of attention or its gradient; 0 where cuDNN does not take it. A plan that asks for more
// is refused when it is made.
std::int64_t cudnn_attention_workspace(const OpView& op, const DeviceTraits& traits);

// The parts of a gradient's workspace, one after the other.
struct CudnnGradientScratch {
  std::int64_t y_dot_dy = 0;  // fp32 [B, H, T]
  std::int64_t dq_sums = 0;   // fp32 [B, H, T, D]; none when it is deterministic
  std::int64_t plan = 0;      // cuDNN's own
  std::int64_t bytes() const { return y_dot_dy + dq_sums + plan; }
};
CudnnGradientScratch cudnn_gradient_scratch(const OpView& op, const DeviceTraits& traits);

// cuDNN's own workspace of the forward pass.
inline constexpr std::int64_t kCudnnForwardWorkspace = 1024;

}  // namespace nadi::inline engines::cuda
