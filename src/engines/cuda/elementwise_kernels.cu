// Addition, dropout, sums over rows; copy, cast, concat, fill; the gradient of a maximum or product over
// ranks.
#include "nadi/cuda/column_sums.cuh"
#include "nadi/cuda/dropout_mask.cuh"
#include "nadi/cuda/elementwise.cuh"
#include "nadi/cuda/kernels.h"
#include "nadi/cuda/packed.cuh"
#include "nadi/cuda/strided_copy.h"
#include "nadi/graph/ops/collectives.h"

namespace nadi::inline engines::cuda {
namespace {

constexpr int kThreads = 256;

struct Sum {
  template <class Tag>
  __device__ void operator()(Tag, const float (&x)[2], float (&y)[1]) const {
    y[0] = x[0] + x[1];
  }
};

// b is repeated along the leading axes of a; its elements are whole vectors.
template <class T>
__global__ void __launch_bounds__(kThreads)
    add_repeated(const T* a, const T* b, T* y, std::uint32_t vectors, std::uint32_t period) {
  constexpr int kVector = 16 / sizeof(T);
  const std::uint32_t at = blockIdx.x * kThreads + threadIdx.x;
  if (at >= vectors) return;
  const auto left = load_vector<T, kVector>(a + std::int64_t{at} * kVector);
  const auto right = load_vector<T, kVector>(b + std::int64_t{at % period} * kVector);
  Vector<T, kVector> sum;
#pragma unroll
  for (int i = 0; i < kVector; ++i) sum.set(i, left.at(i) + right.at(i));
  store_vector(y + std::int64_t{at} * kVector, sum);
}

bool add_repeated_vectors(const KernelCall& call, const OpCall& op) {
  const std::int64_t elements = op.inputs[0].elements(), period = op.inputs[1].elements();
  const std::int64_t vector = 16 / size_of(op.dtype(0));
  const bool suits = op.dtype(0) == op.dtype(1) && op.dtype(0) == op.out_dtype(0) && !op.accumulates(0) &&
                     elements != period && period > 0 && period % vector == 0 &&
                     elements / vector <= UINT32_MAX && is_aligned(op.inputs[0].data, 16) &&
                     is_aligned(op.inputs[1].data, 16) && is_aligned(op.outputs[0].data, 16);
  if (!suits) return false;
  with_type(op.dtype(0), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::int64_t vectors = elements / vector;
    add_repeated<<<blocks_for(vectors, kThreads), kThreads, 0, call.stream>>>(
        op.in<T>(0), op.in<T>(1), op.out<T>(0), static_cast<std::uint32_t>(vectors),
        static_cast<std::uint32_t>(period / vector));
  });
  check_launch(call);
  return true;
}

// A vector never goes beyond a row of the whole tensor where only some of them are here.
template <class T>
__global__ void __launch_bounds__(kThreads)
    drop_vectors(const T* x, T* y, const __grid_constant__ DropoutOp op, std::int64_t elements) {
  constexpr int kVector = 16 / sizeof(T);
  const std::int64_t at = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kVector;
  if (at >= elements) return;
  const DropoutKey key(op.mask);
  const auto from = load_vector<T, kVector>(x + at);
  float factors[kVector];
  key.factors<kVector>(op.rows.number_of(at), factors);
  Vector<T, kVector> to;
#pragma unroll
  for (int i = 0; i < kVector; ++i) to.set(i, from.at(i) * factors[i]);
  store_vector(y + at, to);
}

struct AnyElements {
  const void* x;
  DType x_dtype;
  void* y;
  DType y_dtype;
  bool accumulate;
  std::int64_t elements;
};
__global__ void __launch_bounds__(kThreads)
    drop_elements(const AnyElements operands, const __grid_constant__ DropoutOp op) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= operands.elements) return;
  float factor[1];
  DropoutKey(op.mask).factors<1>(op.rows.number_of(at), factor);
  float y = load_as_float(operands.x, operands.x_dtype, at) * factor[0];
  if (operands.accumulate) y += load_as_float(operands.y, operands.y_dtype, at);
  store_float(operands.y, operands.y_dtype, at, y);
}

// Rows of a matrix that begin at multiples of 16 bytes. The last vector of a row may go on in its padding.
template <class T>
struct VectorRows {
  static constexpr int kVector = 16 / sizeof(T), kRowsAtOnce = 4;
  using Raw = Packed<T>;
  const T* x;
  std::int64_t stride;

  __device__ Raw fetch(std::int64_t row, std::int64_t column) const {
    return load_packed(x + row * stride + column);
  }
  __device__ void values(const Raw& raw, std::int64_t, std::int64_t, float (&v)[kVector]) const {
#pragma unroll
    for (int i = 0; i < kVector; ++i) v[i] = raw.at(i);
  }
};

// Any elements. Those of the innermost axis, `inner` of them, lie together; `stride` is from one such run to
// the next, which may be more.
struct AnyRows {
  static constexpr int kVector = 1, kRowsAtOnce = 4;
  using Raw = float;
  const void* x;
  DType dtype;
  std::int64_t columns, inner, stride;

  __device__ Raw fetch(std::int64_t row, std::int64_t column) const {
    const std::int64_t element = row * columns + column;
    return load_as_float(x, dtype, element / inner * stride + element % inner);
  }
  __device__ void values(Raw raw, std::int64_t, std::int64_t, float (&v)[1]) const { v[0] = raw; }
};

template <class T>
__global__ void __launch_bounds__(kThreads) fill_elements(T* y, T value, std::int64_t elements) {
  constexpr int kVector = 16 / sizeof(T);
  const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kVector;
  if (first + kVector <= elements && reinterpret_cast<std::uintptr_t>(y) % 16 == 0) {
    Vector<T, kVector> values;
#pragma unroll
    for (int i = 0; i < kVector; ++i) values.elements[i] = value;
    store_vector(y + first, values);
  } else {
    for (std::int64_t i = first; i < first + kVector && i < elements; ++i) y[i] = value;
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) add_to_elements(T* y, float value, std::int64_t elements) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < elements) y[i] = from_float<T>(to_float(y[i]) + value);
}

template <class T>
void launch_fill(const KernelCall& call, T value) {
  const std::int64_t elements = call.op().outputs[0].elements();
  constexpr std::int64_t kPerBlock = kThreads * 16 / sizeof(T);
  fill_elements<<<blocks_for(elements, kPerBlock), kThreads, 0, call.stream>>>(call.op().out<T>(0), value,
                                                                               elements);
}

// As on the host, to the nearest: a constant is rounded once, not per element.
template <class T>
T rounded(double value) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>)
    return __float2bfloat16_rn(static_cast<float>(value));
  else if constexpr (std::is_same_v<T, __half>)
    return __float2half_rn(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

struct PickExtreme {
  template <class Tag>
  __device__ void operator()(Tag, const float (&x)[3], float (&dx)[1]) const {
    dx[0] = x[0] == x[1] ? x[2] : 0.0F;
  }
};
struct DivideProduct {
  template <class Tag>
  __device__ void operator()(Tag, const float (&x)[3], float (&dx)[1]) const {
    dx[0] = x[2] * x[1] / x[0];
  }
};

}  // namespace

void add_kernel(const KernelCall& call) {
  if (!add_repeated_vectors(call, call.op())) launch_elementwise<2, 1>(call, call.op(), Sum{});
}

void dropout_kernel(const KernelCall& call) {
  const OpCall& op = call.op();
  const std::int64_t elements = op.inputs[0].elements();
  if (elements == 0) return;
  const DropoutOp dropout = dropout_op(op);
  const std::int64_t vector = 16 / size_of(op.dtype(0));
  const bool suits = suits_vectors<1, 1>(op) && elements % vector == 0 &&
                     (dropout.rows.rows == nullptr || dropout.rows.width % vector == 0);
  if (suits)
    with_type(op.dtype(0), [&](auto tag) {
      using T = typename decltype(tag)::type;
      drop_vectors<<<blocks_for(elements, kThreads * vector), kThreads, 0, call.stream>>>(
          op.in<T>(0), op.out<T>(0), dropout, elements);
    });
  else
    drop_elements<<<blocks_for(elements, kThreads), kThreads, 0, call.stream>>>(
        {.x = op.inputs[0].data,
         .x_dtype = op.dtype(0),
         .y = op.outputs[0].data,
         .y_dtype = op.out_dtype(0),
         .accumulate = op.accumulates(0),
         .elements = elements},
        dropout);
  check_launch(call);
}

void sum_rows_kernel(const KernelCall& call) {
  const OpCall& op = call.op();
  const Operand& x = op.inputs[0];
  const std::int64_t columns = op.outputs[0].elements();
  const std::int64_t rows = columns == 0 ? 0 : x.elements() / columns;
  const ColumnSumsPlan plan(rows, columns, call.device.traits());
  const std::int64_t vector = 16 / size_of(x.dtype());
  // Padded rows can only be walked in steps of one row's padding if each is a row of the matrix.
  const bool padded = x.row_stride() != x.columns();
  const std::int64_t stride = padded ? x.row_stride() : columns;
  const bool suits = stride % vector == 0 && is_aligned(x.data, 16) && (!padded || columns == x.columns());
  if (suits)
    with_type(x.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      launch_column_sums(call, plan, VectorRows<T>{.x = op.in<T>(0), .stride = stride}, sum_target(op, 0));
    });
  else
    launch_column_sums(call, plan,
                       AnyRows{.x = x.data,
                               .dtype = x.dtype(),
                               .columns = columns,
                               .inner = x.columns(),
                               .stride = x.row_stride()},
                       sum_target(op, 0));
}

// Buckets have several tensors, each of which is copied.
void copy_kernel(const KernelCall& call) {
  const OpCall& op = call.op();
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    const Operand& from = op.inputs[i];
    const Operand& to = op.outputs[i];
    if (from.data == to.data && !op.accumulates(i)) continue;  // in place
    strided_copy(call, {.from = from.data,
                        .from_dtype = from.dtype(),
                        .from_strides = from.strides,
                        .to = to.data,
                        .to_dtype = to.dtype(),
                        .to_strides = to.strides,
                        .shape = from.shape(),
                        .accumulate = op.accumulates(i)});
  }
}

void concat_kernel(const KernelCall& call) {
  const OpCall& op = call.op();
  const Operand& whole = op.outputs[0];
  const auto axis = static_cast<std::size_t>(op.attributes().integer("axis"));
  std::int64_t first = 0;
  for (const Operand& part : op.inputs) {
    strided_copy(call, {.from = part.data,
                        .from_dtype = part.dtype(),
                        .from_strides = part.strides,
                        .to = whole.data + first * whole.strides[axis] * size_of(whole.dtype()),
                        .to_dtype = whole.dtype(),
                        .to_strides = whole.strides,
                        .shape = part.shape(),
                        .accumulate = op.accumulates(0)});
    first += part.shape()[static_cast<int>(axis)];
  }
}

void fill_kernel(const KernelCall& call) {
  const OpCall& op = call.op();
  const double value = op.attributes().real("value");
  const std::int64_t elements = op.outputs[0].elements();
  if (elements == 0) return;
  check(is_floating(op.out_dtype(0)) || !op.accumulates(0), "integers are set, not added to");
  if (op.out_dtype(0) == DType::kI32)
    launch_fill(call, static_cast<std::int32_t>(value));
  else if (op.out_dtype(0) == DType::kI64)
    launch_fill(call, static_cast<std::int64_t>(value));
  else
    with_type(op.out_dtype(0), [&](auto tag) {
      using T = typename decltype(tag)::type;
      if (op.accumulates(0))
        add_to_elements<<<blocks_for(elements, kThreads), kThreads, 0, call.stream>>>(
            op.out<T>(0), static_cast<float>(value), elements);
      else
        launch_fill(call, rounded<T>(value));
    });
  check_launch(call);
}

// Minimum and maximum: to the members that have the extreme value, to each of several in full. Product: y / x
// is the product of the others; x must not be 0.
void all_reduce_grad_kernel(const KernelCall& call) {
  if (reduce_op_named(call.op().attributes().text("op")) == ReduceOp::kProduct)
    launch_elementwise<3, 1>(call, call.op(), DivideProduct{});
  else
    launch_elementwise<3, 1>(call, call.op(), PickExtreme{});
}

}  // namespace nadi::inline engines::cuda
