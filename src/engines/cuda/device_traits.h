// What the choice of kernels and their workspace depend on. Known without CUDA: `nadi show` plans for a GPU
// that may not be there.
#pragma once

#include <cstdint>

#include "nadi/engine/engine_options.h"

namespace nadi::inline engines::cuda {

struct DeviceTraits {
  int compute_capability = 90;  // major * 10 + minor
  int multiprocessors = 132;
  std::int64_t shared_memory_per_block = 232448;  // that a kernel may ask for
  bool cudnn = true;                              // its attention can be used
  MathOptions math = {};
};

// Places of variables, values and workspaces are multiples of this: what the libraries like best.
inline constexpr std::int64_t kDeviceAlignment = 256;

}  // namespace nadi::inline engines::cuda
