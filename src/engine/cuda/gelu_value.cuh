// The two forms of GELU of one value, in fp32.
#pragma once

#include "nadi/graph/ops/matmul.h"

namespace nadi::cuda {

// 0.5 x (1 + tanh(u)) is x times the logistic function of 2u: no cancellation where x is far below 0.
__device__ inline float gelu_tanh(float x) {
  const float u = 0.7978845608F * (x + 0.044715F * x * x * x);
  return __fdividef(x, 1.0F + __expf(-2.0F * u));
}
__device__ inline float gelu_erf(float x) {
  return 0.5F * x * (1.0F + erff(0.7071067812F * x));
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

}  // namespace nadi::cuda
