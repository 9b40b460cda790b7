// A matrix product for operands that cuBLASLt does not take, rows that are not evenly spaced above all, and
// the pass that follows a product of cuBLASLt: bias and activation.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "nadi/cuda/matrix_stack.h"
#include "nadi/graph/ops/matmul.h"

namespace nadi::inline engines::cuda {

// A stack of matrices with any strides; `data` nullptr where it is absent.
struct PlainMatrices {
  void* data = nullptr;
  DType dtype = DType::kF32;
  Axes batches = {}, rows = {};
  std::int64_t column_stride = 1;
};

// y = alpha op(a) op(b) + bias + summand. The summand may be y itself. Sums over k are fp32 sums in the order
// of k.
struct PlainProduct {
  std::int64_t batches = 1, m = 0, n = 0, k = 0;
  PlainMatrices a = {}, b = {};
  bool transpose_a = false, transpose_b = false;
  float alpha = 1;
  const void* bias = nullptr;
  DType bias_dtype = DType::kF32;
  PlainMatrices y = {}, summand = {};
};
void launch_plain_product(const PlainProduct& product, cudaStream_t stream);

// y = activation(x + bias) over a matrix; y may be x. The pre-activation with its bias is written, too, where
// that is asked for: it may be x as well.
struct BiasActivation {
  const void* x = nullptr;
  void* y = nullptr;
  void* pre_activation = nullptr;  // nullptr means not wanted
  DType dtype = DType::kF32;
  std::int64_t rows = 0, columns = 0;
  std::int64_t row_stride = 0;  // of all three
  const void* bias = nullptr;   // nullptr means none
  DType bias_dtype = DType::kF32;
  Activation activation = Activation::kNone;
};
void launch_bias_activation(const BiasActivation& pass, int multiprocessors, cudaStream_t stream);

}  // namespace nadi::inline engines::cuda
