// Element-wise ops: results that depend on the elements of the inputs in the same place alone.
//
//   launch_elementwise<2, 1>(call, op, [] __device__(auto tag, const float(&x)[2], float(&y)[1]) {
//     y[0] = x[0] + x[1];
//   });
//
// The tag says what elements are in memory: a function may compute a 16-bit result with less care than one in
// fp32. Inputs and outputs may be the same memory. Where all operands have the same type and begin at
// multiples of 16 bytes, a thread takes that much of each, twice; otherwise one element.
#pragma once

#include "nadi/cuda/device_code.cuh"
#include "nadi/cuda/kernel.h"

namespace nadi::inline engines::cuda {

inline constexpr int kElementwiseThreads = 256;
inline constexpr int kElementwiseVectors = 2;  // that a thread has under way of each input

template <class T, int kIn, int kOut>
struct ElementwiseVectors {
  const T* in[kIn];
  T* out[kOut];
  std::int64_t elements;
};

template <class T, int kIn, int kOut, class F>
__global__ void __launch_bounds__(kElementwiseThreads)
    elementwise_vectors(const ElementwiseVectors<T, kIn, kOut> operands, F f) {
  constexpr int kVector = 16 / sizeof(T);
  const std::int64_t vectors = operands.elements / kVector;
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x) * kElementwiseThreads * kElementwiseVectors + threadIdx.x;
  Vector<T, kVector> in[kElementwiseVectors][kIn];
#pragma unroll
  for (int u = 0; u < kElementwiseVectors; ++u) {
    const std::int64_t at = first + u * kElementwiseThreads;
    if (at < vectors)
#pragma unroll
      for (int k = 0; k < kIn; ++k) in[u][k] = load_vector<T, kVector>(operands.in[k] + at * kVector);
  }
#pragma unroll
  for (int u = 0; u < kElementwiseVectors; ++u) {
    const std::int64_t at = first + u * kElementwiseThreads;
    if (at >= vectors) break;
    Vector<T, kVector> out[kOut];
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      float x[kIn], y[kOut];
#pragma unroll
      for (int k = 0; k < kIn; ++k) x[k] = in[u][k].at(i);
      f(TypeTag<T>{}, x, y);
#pragma unroll
      for (int k = 0; k < kOut; ++k) out[k].set(i, y[k]);
    }
#pragma unroll
    for (int k = 0; k < kOut; ++k) store_vector(operands.out[k] + at * kVector, out[k]);
  }
  // What is left over at the end.
  const std::int64_t last = vectors * kVector + threadIdx.x;
  if (blockIdx.x == 0 && last < operands.elements) {
    float x[kIn], y[kOut];
#pragma unroll
    for (int k = 0; k < kIn; ++k) x[k] = to_float(operands.in[k][last]);
    f(TypeTag<T>{}, x, y);
#pragma unroll
    for (int k = 0; k < kOut; ++k) operands.out[k][last] = from_float<T>(y[k]);
  }
}

// Operands of any types, of which those that are shorter than the first input are repeated.
template <int kIn, int kOut>
struct ElementwiseAny {
  const void* in[kIn];
  DType in_dtype[kIn];
  std::int64_t period[kIn];
  void* out[kOut];
  DType out_dtype[kOut];
  bool accumulate[kOut];
  std::int64_t elements;
};

template <int kIn, int kOut, class F>
__global__ void __launch_bounds__(kElementwiseThreads)
    elementwise_any(const ElementwiseAny<kIn, kOut> operands, F f) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kElementwiseThreads + threadIdx.x;
  if (at >= operands.elements) return;
  float x[kIn], y[kOut];
#pragma unroll
  for (int k = 0; k < kIn; ++k)
    x[k] = load_as_float(operands.in[k], operands.in_dtype[k],
                         operands.period[k] == operands.elements ? at : at % operands.period[k]);
  f(TypeTag<float>{}, x, y);
#pragma unroll
  for (int k = 0; k < kOut; ++k) {
    if (operands.accumulate[k]) y[k] += load_as_float(operands.out[k], operands.out_dtype[k], at);
    store_float(operands.out[k], operands.out_dtype[k], at, y[k]);
  }
}

// Whether all operands have the elements, the type and the alignment that vectors want.
template <int kIn, int kOut>
bool suits_vectors(const OpCall& op) {
  const DType dtype = op.dtype(0);
  bool suits = true;
  for (int k = 0; k < kIn; ++k)
    suits = suits && op.dtype(k) == dtype && is_aligned(op.inputs[k].data, 16) &&
            op.inputs[k].elements() == op.inputs[0].elements();
  for (int k = 0; k < kOut; ++k)
    suits = suits && op.out_dtype(k) == dtype && is_aligned(op.outputs[k].data, 16) && !op.accumulates(k);
  return suits;
}

template <int kIn, int kOut, class F>
void launch_elementwise(const KernelCall& call, const OpCall& op, F f) {
  const std::int64_t elements = op.inputs[0].elements();
  if (elements == 0) return;
  if (suits_vectors<kIn, kOut>(op)) {
    with_type(op.dtype(0), [&](auto tag) {
      using T = typename decltype(tag)::type;
      ElementwiseVectors<T, kIn, kOut> operands;
      for (int k = 0; k < kIn; ++k) operands.in[k] = op.in<T>(k);
      for (int k = 0; k < kOut; ++k) operands.out[k] = op.out<T>(k);
      operands.elements = elements;
      constexpr std::int64_t kPerBlock = kElementwiseThreads * kElementwiseVectors * 16 / sizeof(T);
      elementwise_vectors<<<blocks_for(elements, kPerBlock), kElementwiseThreads, 0, call.stream>>>(operands,
                                                                                                    f);
    });
  } else {
    ElementwiseAny<kIn, kOut> operands;
    for (int k = 0; k < kIn; ++k) {
      operands.in[k] = op.inputs[k].data;
      operands.in_dtype[k] = op.dtype(k);
      operands.period[k] = op.inputs[k].elements();
    }
    for (int k = 0; k < kOut; ++k) {
      operands.out[k] = op.outputs[k].data;
      operands.out_dtype[k] = op.out_dtype(k);
      operands.accumulate[k] = op.accumulates(k);
    }
    operands.elements = elements;
    elementwise_any<<<blocks_for(elements, kElementwiseThreads), kElementwiseThreads, 0, call.stream>>>(
        operands, f);
  }
  check_launch(call);
}

}  // namespace nadi::inline engines::cuda
