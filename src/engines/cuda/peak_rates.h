// What a GPU's tensor cores can do at most, by its name: what model FLOPs utilization (MFU) is a share of.
// Known without CUDA.
#pragma once

#include <optional>
#include <string_view>

#include "nadi/cuda/device_traits.h"
#include "nadi/graph/dtype.h"

namespace nadi::inline engines::cuda {

// TFLOP/s of dense matrix products of this type, as the vendor states them (peak_rates.cpp names the
// sources); `name` as CUDA gives it: "NVIDIA H200". Nothing for a GPU that is not in the table.
std::optional<double> peak_tflops(std::string_view name, DType dtype, const MathOptions& math = {});

}  // namespace nadi::inline engines::cuda
