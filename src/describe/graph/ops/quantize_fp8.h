// Rounds a tensor to fp8 with one scale for all of it, chosen so that the largest magnitude just fits
// ("current scaling"). Returns the fp8 tensor and the fp32 factor that turns it back into values; matmul
// takes both. For gradients it is transparent: that of the fp8 values is taken as that of x.
#pragma once

#include "nadi/graph/builder.h"

namespace nadi::inline describe {

struct QuantizedTensor {
  TensorId values;
  TensorId scale;
};
// `format` is kF8E4M3 (values) or kF8E5M2 (gradients).
QuantizedTensor quantize_fp8(GraphBuilder& builder, TensorId x, DType format);

}  // namespace nadi::inline describe
