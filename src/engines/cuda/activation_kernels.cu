// GELU and the gated activation of Llama, and their gradients: element-wise, one pass over memory. The
// gradient of GELU also with its sum over rows, which is the gradient of the bias before it.
#include <type_traits>

#include "nadi/cuda/activation_math.cuh"
#include "nadi/cuda/column_sums.cuh"
#include "nadi/cuda/elementwise.cuh"
#include "nadi/cuda/kernels.h"
#include "nadi/cuda/packed.cuh"

namespace nadi::inline engines::cuda {
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

// dx = slope(x) * dy, of which also the sums over rows are taken: rows of whole vectors of one type.
template <class T, class Form>
struct GeluGradRows {
  static constexpr int kVector = 16 / sizeof(T), kRowsAtOnce = 1;
  struct Raw {
    Packed<T> x, dy;
  };
  const T* x;
  const T* dy;
  T* dx;  // nullptr means only the sums are wanted
  std::int64_t columns;

  __device__ Raw fetch(std::int64_t row, std::int64_t column) const {
    const std::int64_t at = row * columns + column;
    return {load_packed(x + at), load_packed(dy + at)};
  }
  // Sums are taken of what a kernel that reads dx would see.
  __device__ void values(const Raw& raw, std::int64_t row, std::int64_t column, float (&v)[kVector]) const {
#pragma unroll
    for (int i = 0; i < kVector; ++i) v[i] = Form::template slope<sizeof(T) == 4>(raw.x.at(i)) * raw.dy.at(i);
    const Packed<T> rounded = packed<T>(v);
#pragma unroll
    for (int i = 0; i < kVector; ++i) v[i] = rounded.at(i);
    if (dx != nullptr) store_packed(dx + row * columns + column, rounded);
  }
};

// The same for any types at any addresses.
template <class Form>
struct GeluGradElements {
  static constexpr int kVector = 1, kRowsAtOnce = 1;
  struct Raw {
    float x, dy;
  };
  const void* x;
  const void* dy;
  void* dx;
  DType x_dtype, dy_dtype, dx_dtype;
  std::int64_t columns;

  __device__ Raw fetch(std::int64_t row, std::int64_t column) const {
    const std::int64_t at = row * columns + column;
    return {load_as_float(x, x_dtype, at), load_as_float(dy, dy_dtype, at)};
  }
  __device__ void values(const Raw& raw, std::int64_t row, std::int64_t column, float (&v)[1]) const {
    v[0] = Form::template slope<true>(raw.x) * raw.dy;
    if (dx_dtype == DType::kBF16) v[0] = to_float(from_float<__nv_bfloat16>(v[0]));
    if (dx_dtype == DType::kF16) v[0] = to_float(from_float<__half>(v[0]));
    if (dx != nullptr) store_float(dx, dx_dtype, row * columns + column, v[0]);
  }
};

Activation form_of(const OpCall& op) {
  return activation_named(op.attributes().text("form"));
}

}  // namespace

void gelu_kernel(const KernelCall& call) {
  with_activation(form_of(call.op()),
                  [&](auto form) { launch_elementwise<1, 1>(call, call.op(), GeluValue<decltype(form)>{}); });
}

void gelu_grad_kernel(const KernelCall& call) {
  with_activation(form_of(call.op()),
                  [&](auto form) { launch_elementwise<2, 1>(call, call.op(), GeluGrad<decltype(form)>{}); });
}

// gelu_grad sum_rows.
void gelu_grad_sums_kernel(const KernelCall& call) {
  const OpCall& gelu = call.ops[0];
  const OpCall& sum = call.ops[1];
  const std::int64_t columns = sum.outputs[0].elements();
  if (columns == 0) return;
  check(!gelu.accumulates(0), "a fused gradient of GELU is not added to another");
  const ColumnSumsPlan plan(gelu.inputs[0].elements() / columns, columns, call.device.traits());
  const DType dtype = gelu.dtype(0);
  const bool suits = gelu.dtype(1) == dtype && gelu.out_dtype(0) == dtype &&
                     columns % (16 / size_of(dtype)) == 0 && is_aligned(gelu.inputs[0].data, 16) &&
                     is_aligned(gelu.inputs[1].data, 16) && is_aligned(gelu.outputs[0].data, 16);
  with_activation(form_of(gelu), [&](auto form) {
    using Form = decltype(form);
    if (suits)
      with_type(dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        launch_column_sums(
            call, plan,
            GeluGradRows<T, Form>{
                .x = gelu.in<T>(0), .dy = gelu.in<T>(1), .dx = gelu.out<T>(0), .columns = columns},
            sum_target(sum, 0));
      });
    else
      launch_column_sums(call, plan,
                         GeluGradElements<Form>{.x = gelu.inputs[0].data,
                                                .dy = gelu.inputs[1].data,
                                                .dx = gelu.outputs[0].data,
                                                .x_dtype = gelu.dtype(0),
                                                .dy_dtype = gelu.dtype(1),
                                                .dx_dtype = gelu.out_dtype(0),
                                                .columns = columns},
                         sum_target(sum, 0));
  });
}

void swiglu_kernel(const KernelCall& call) {
  launch_elementwise<2, 1>(call, call.op(), Swiglu{});
}

void swiglu_grad_kernel(const KernelCall& call) {
  launch_elementwise<3, 2>(call, call.op(), SwigluGrad{});
}

}  // namespace nadi::inline engines::cuda
