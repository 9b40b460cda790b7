// GELU and the gated activation of Llama, and their gradients: element-wise, one pass over memory.
#include <type_traits>

#include "nadi/engine/cuda/activation_math.cuh"
#include "nadi/engine/cuda/elementwise.cuh"
#include "nadi/engine/cuda/kernels.h"

namespace nadi::cuda {
namespace {

// Elements of 16 bits need fewer digits of a result.
template <class Tag>
constexpr bool kAccurate = std::is_same_v<typename Tag::type, float>;

template <class Form>
struct GeluValue {
  template <class Tag>
  __device__ void operator()(Tag, const float (&x)[1], float (&y)[1]) const {
    y[0] = Form::template value<kAccurate<Tag>>(x[0]);
  }
};

template <class Form>
struct GeluGrad {
  template <class Tag>
  __device__ void operator()(Tag, const float (&x)[2], float (&y)[1]) const {
    y[0] = Form::template slope<kAccurate<Tag>>(x[0]) * x[1];
  }
};

struct Swiglu {
  template <class Tag>
  __device__ void operator()(Tag, const float (&x)[2], float (&y)[1]) const {
    y[0] = x[0] * sigmoid<kAccurate<Tag>>(x[0]) * x[1];
  }
};

// silu(g) = g s with s = sigmoid(g), s' = s (1 - s), hence silu'(g) = s (1 + g (1 - s)).
struct SwigluGrad {
  template <class Tag>
  __device__ void operator()(Tag, const float (&x)[3], float (&y)[2]) const {
    const float gate = x[0], up = x[1], dy = x[2];
    const float s = sigmoid<kAccurate<Tag>>(gate);
    y[0] = dy * up * s * (1.0F + gate * (1.0F - s));
    y[1] = dy * gate * s;
  }
};

Activation form_of(const OpCall& op) {
  return activation_named(op.attributes().text("form"));
}

}  // namespace

void gelu_kernel(const KernelCall& call) {
  with_activation(form_of(call.op()), [&](auto form) {
    launch_elementwise<1, 1>(call, call.op(), GeluValue<decltype(form)>{});
  });
}

void gelu_grad_kernel(const KernelCall& call) {
  with_activation(form_of(call.op()), [&](auto form) {
    launch_elementwise<2, 1>(call, call.op(), GeluGrad<decltype(form)>{});
  });
}

void swiglu_kernel(const KernelCall& call) {
  launch_elementwise<2, 1>(call, call.op(), Swiglu{});
}

void swiglu_grad_kernel(const KernelCall& call) {
  launch_elementwise<3, 2>(call, call.op(), SwigluGrad{});
}

}  // namespace nadi::cuda
