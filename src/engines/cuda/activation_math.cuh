// The forms of GELU and the sigmoid on numbers in registers. With `accurate` all digits of fp32 are kept;
// without it the result is good to some 20 bits, which is more than a 16-bit element has, at half the
// instructions.
#pragma once

#include <cuda_runtime.h>

#include "nadi/cuda/device_code.cuh"
#include "nadi/graph/ops/matmul.h"

namespace nadi::inline engines::cuda {

// One instruction each; what is too small for a normal number becomes 0.
__device__ inline float quick_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline float quick_reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
inline constexpr float kLog2E = 1.44269504088896341F;

template <bool accurate>
__device__ inline float sigmoid(float x) {
  // exp(-x) of a very negative x is infinite and its reciprocal 0, as it should be.
  return accurate ? 1.0F / (1.0F + expf(-x)) : quick_reciprocal(1.0F + quick_exp2(-kLog2E * x));
}

struct NoActivation {
  template <bool accurate>
  static __device__ float value(float x) {
    return x;
  }
  template <bool accurate>
  static __device__ float slope(float) {
    return 1.0F;
  }
};

// With u = sqrt(2 / pi) (x + kCubic x^3), (1 + tanh u) / 2 is the sigmoid of 2 u: one exponential, and small
// values keep their digits.
struct GeluTanh {
  static constexpr float kTwiceRoot = 1.59576912160573071F;  // 2 sqrt(2 / pi)
  static constexpr float kCubic = 0.044715F;

  template <bool accurate>
  static __device__ float value(float x) {
    return x * sigmoid<accurate>(x * (kTwiceRoot + kTwiceRoot * kCubic * (x * x)));
  }
  template <bool accurate>
  static __device__ float slope(float x) {
    const float square = x * x;
    const float s = sigmoid<accurate>(x * (kTwiceRoot + kTwiceRoot * kCubic * square));
    return s + x * s * (kTwiceRoot + 3.0F * kTwiceRoot * kCubic * square) * (1.0F - s);
  }
};

struct GeluErf {
  // Distribution function and density of the standard normal.
  struct Normal {
    float below, density;
  };
  template <bool accurate>
  static __device__ Normal normal(float x) {
    constexpr float kReciprocalRoot = 0.398942280401432678F;  // 1 / sqrt(2 pi)
    if constexpr (accurate) return {normcdff(x), kReciprocalRoot * expf(-0.5F * x * x)};
    // Abramowitz and Stegun, 7.1.26, for erfc(|x| / sqrt 2): within 1.5e-7.
    const float exponential = quick_exp2(-0.5F * kLog2E * x * x);
    const float t = quick_reciprocal(1.0F + 0.3275911F * 0.707106781186547524F * fabsf(x));
    float tail = 1.061405429F;
    tail = tail * t - 1.453152027F;
    tail = tail * t + 1.421413741F;
    tail = tail * t - 0.284496736F;
    tail = tail * t + 0.254829592F;
    tail = 0.5F * tail * t * exponential;
    return {x < 0 ? tail : 1.0F - tail, kReciprocalRoot * exponential};
  }

  template <bool accurate>
  static __device__ float value(float x) {
    return x * normal<accurate>(x).below;
  }
  template <bool accurate>
  static __device__ float slope(float x) {
    const Normal n = normal<accurate>(x);
    return n.below + x * n.density;
  }
};

// Calls with the form's functions.
template <class F>
void with_activation(Activation form, const F& f) {
  switch (form) {
    case Activation::kNone:
      return f(NoActivation{});
    case Activation::kGeluTanh:
      return f(GeluTanh{});
    case Activation::kGeluErf:
      return f(GeluErf{});
  }
  unreachable();
}

}  // namespace nadi::inline engines::cuda
