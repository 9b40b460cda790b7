// How the optimizer's kernels share out work: what their workspace depends on, without CUDA.
#pragma once

#include "nadi/cuda/device_traits.h"

namespace nadi::inline engines::cuda {

// Pieces of memory of which one launch takes the sum of squares: as many as fit a kernel's parameters.
inline constexpr int kSegmentsPerLaunch = 120;

// At most, per launch: each has a sum in the workspace.
inline int squared_norm_blocks(const DeviceTraits& traits) {
  return traits.multiprocessors * 8;
}
inline int gradient_sums_blocks(const DeviceTraits& traits) {
  return traits.multiprocessors * 4;
}

}  // namespace nadi::inline engines::cuda
