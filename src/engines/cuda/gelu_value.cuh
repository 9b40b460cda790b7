// The two forms of GELU of one value, in fp32; and faster ones for values that are rounded to 16 bits
// afterwards.
#pragma once

#include "nadi/graph/ops/matmul.h"

namespace nadi::inline engines::cuda {

// 0.5 x (1 + tanh(u)) is x times the logistic function of 2u: no cancellation where x is far below 0.
__device__ inline float gelu_tanh(float x) {
  const float u = 0.7978845608F * (x + 0.044715F * x * x * x);
  return __fdividef(x, 1.0F + __expf(-2.0F * u));
}
__device__ inline float gelu_erf(float x) {
  return 0.5F * x * (1.0F + erff(0.7071067812F * x));
}

// Within 5e-4 of x: one instruction of the hardware.
__device__ inline float rough_gelu_tanh(float x) {
  const float u = x * (0.7978845608F + 0.0356774081F * x * x);
  float tanh;
  asm("tanh.approx.f32 %0, %1;" : "=f"(tanh) : "f"(u));
  const float half = 0.5F * x;
  return half + half * tanh;
}
// Within 2e-7 of x. With z = |x| / sqrt 2: erfc(z) = e^(-z^2) times a polynomial in 1 / (1 + p z), by
// Hastings (Abramowitz and Stegun, 7.1.26).
__device__ inline float rough_gelu_erf(float x) {
  const float z = 0.7071067812F * fabsf(x);
  const float t = __fdividef(1.0F, 1.0F + 0.3275911F * z);
  float tail = 1.061405429F;
  tail = tail * t - 1.453152027F;
  tail = tail * t + 1.421413741F;
  tail = tail * t - 0.284496736F;
  tail = tail * t + 0.254829592F;
  tail *= t * __expf(-z * z) * 0.5F;
  return x < 0 ? x * tail : x - x * tail;
}

__device__ inline float activated(Activation activation, float x) {
  switch (activation) {
    case Activation::kGeluTanh:
      return gelu_tanh(x);
    case Activation::kGeluErf:
      return gelu_erf(x);
    default:
      return x;
  }
}

// For a result of type T.
template <class T>
__device__ inline float activated_as(Activation activation, float x) {
  if constexpr (sizeof(T) == 4) return activated(activation, x);
  switch (activation) {
    case Activation::kGeluTanh:
      return rough_gelu_tanh(x);
    case Activation::kGeluErf:
      return rough_gelu_erf(x);
    default:
      return x;
  }
}

}  // namespace nadi::inline engines::cuda
