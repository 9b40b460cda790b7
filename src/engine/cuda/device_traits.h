// What the choice of kernels and their workspace depend on. Known without CUDA: `nadi show` plans for a GPU
// that may not be there.
#pragma once

#include <cstdint>

namespace nadi::cuda {

// How a user wants products and sums to be taken.
struct MathOptions {
  bool tf32 = false;           // products of fp32 matrices on tensor cores, with 10 bits of mantissa
  bool deterministic = false;  // two runs give the same bits, also where a library would rather not
};

struct DeviceTraits {
  int compute_capability = 90;  // major * 10 + minor
  int multiprocessors = 132;
  std::int64_t shared_memory_per_block = 232448;  // that a kernel may ask for
  bool cudnn = true;                              // its attention can be used
  MathOptions math = {};
};

// Places of variables, values and workspaces are multiples of this: what the libraries like best.
inline constexpr std::int64_t kDeviceAlignment = 256;

}  // namespace nadi::cuda
