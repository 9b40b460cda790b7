// Rows of norms in registers: reading and writing them, and sums over a row. norm_plan.h says who has what.
//
// Two kinds of rows. SameType<T>: all operands have elements of type T, begin at multiples of 16 bytes, and a
// row is a whole number of vectors. AnyType: any types, any addresses, element by element.
#pragma once

#include "nadi/engine/cuda/device_code.cuh"
#include "nadi/engine/cuda/kernel.h"
#include "nadi/engine/cuda/norm_plan.h"

namespace nadi::cuda {

// A matrix of which rows are read or written. nullptr: there is none.
struct RowOperand {
  void* data = nullptr;
  DType dtype = DType::kF32;
  bool accumulate = false;
  // Rows after which it begins anew: an operand that is repeated along leading axes.
  std::int64_t period = INT64_MAX;

  __device__ std::int64_t row(std::int64_t row) const { return row < period ? row : row % period; }
};

inline RowOperand row_operand(const Operand& operand) {
  return {.data = operand.data, .dtype = operand.dtype()};
}
inline RowOperand row_output(const OpCall& op, std::size_t i) {
  return {.data = op.outputs[i].data, .dtype = op.out_dtype(i), .accumulate = op.accumulates(i)};
}

template <class T>
struct SameType {
  static constexpr int kVector = 16 / sizeof(T);
  using Raw = Vector<T, kVector>;

  static __device__ Raw load(const RowOperand& operand, std::int64_t row, int columns, int column) {
    return load_vector<T, kVector>(static_cast<const T*>(operand.data) + operand.row(row) * columns + column);
  }
  static __device__ void store(const RowOperand& operand, std::int64_t row, int columns, int column,
                               const float (&values)[kVector]) {
    Raw raw;
#pragma unroll
    for (int i = 0; i < kVector; ++i) raw.set(i, values[i]);
    store_vector(static_cast<T*>(operand.data) + operand.row(row) * columns + column, raw);
  }
  static __device__ float rounded(const RowOperand&, float x) { return to_float(from_float<T>(x)); }
};

struct AnyType {
  static constexpr int kVector = NormTeams::kNarrowVector;
  using Raw = Vector<float, kVector>;

  static __device__ Raw load(const RowOperand& operand, std::int64_t row, int columns, int column) {
    Raw raw;
#pragma unroll
    for (int i = 0; i < kVector; ++i)
      raw.elements[i] =
          column + i < columns
              ? load_as_float(operand.data, operand.dtype, operand.row(row) * columns + column + i)
              : 0.0F;
    return raw;
  }
  static __device__ void store(const RowOperand& operand, std::int64_t row, int columns, int column,
                               const float (&values)[kVector]) {
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      if (column + i >= columns) break;
      const std::int64_t at = operand.row(row) * columns + column + i;
      float value = values[i];
      if (operand.accumulate) value += load_as_float(operand.data, operand.dtype, at);
      store_float(operand.data, operand.dtype, at, value);
    }
  }
  static __device__ float rounded(const RowOperand& operand, float x) {
    switch (operand.dtype) {
      case DType::kBF16:
        return to_float(from_float<__nv_bfloat16>(x));
      case DType::kF16:
        return to_float(from_float<__half>(x));
      default:
        return x;
    }
  }
};

// Weights or biases, one per column. A variable may begin at any address and have another type than rows.
struct ColumnOperand {
  const void* data = nullptr;
  DType dtype = DType::kF32;
  bool vectors = false;  // can be read 16 bytes at a time
};

inline ColumnOperand column_operand(const Operand& operand) {
  return {.data = operand.data,
          .dtype = operand.dtype(),
          .vectors = is_aligned(operand.data, 16) && operand.elements() % 8 == 0};
}

template <class T, int N>
__device__ inline void load_columns_as(const void* data, int column, float (&values)[N]) {
  constexpr int kVector = 16 / sizeof(T) < N ? 16 / sizeof(T) : N;
#pragma unroll
  for (int part = 0; part < N; part += kVector) {
    const auto raw = load_vector<T, kVector>(static_cast<const T*>(data) + column + part);
#pragma unroll
    for (int i = 0; i < kVector; ++i) values[part + i] = raw.at(i);
  }
}

// Columns beyond the last are 0.
template <int N>
__device__ inline void load_columns(const ColumnOperand& operand, int columns, int column,
                                    float (&values)[N]) {
  if (operand.vectors) {
    if (operand.dtype == DType::kBF16)
      load_columns_as<__nv_bfloat16>(operand.data, column, values);
    else if (operand.dtype == DType::kF16)
      load_columns_as<__half>(operand.data, column, values);
    else
      load_columns_as<float>(operand.data, column, values);
    return;
  }
#pragma unroll
  for (int i = 0; i < N; ++i)
    values[i] = column + i < columns ? load_as_float(operand.data, operand.dtype, column + i) : 0.0F;
}

// Over the threads of a team; all threads of a block call it where a team is a block.
__device__ inline float team_sum(float x, int warps, float* scratch) {
  return warps == 1 ? warp_sum(x) : block_sum(x, scratch);
}

// Two sums at once. `scratch`: 64 floats.
__device__ inline float2 team_sums(float2 x, int warps, float* scratch) {
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    x.x += __shfl_xor_sync(kWholeWarp, x.x, offset);
    x.y += __shfl_xor_sync(kWholeWarp, x.y, offset);
  }
  if (warps == 1) return x;
  auto* pairs = reinterpret_cast<float2*>(scratch);
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  __syncthreads();
  if (lane == 0) pairs[warp] = x;
  __syncthreads();
  x = lane < warps ? pairs[lane] : float2{0, 0};
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    x.x += __shfl_xor_sync(kWholeWarp, x.x, offset);
    x.y += __shfl_xor_sync(kWholeWarp, x.y, offset);
  }
  return x;
}

// Calls with the kind of rows and the vectors of a thread, as an integral constant.
template <class Rows, class F>
void with_vectors(int vectors, const F& f) {
  switch (vectors) {
    case 1:
      return f(Rows{}, std::integral_constant<int, 1>{});
    case 2:
      return f(Rows{}, std::integral_constant<int, 2>{});
    case 3:
      return f(Rows{}, std::integral_constant<int, 3>{});
    case 4:
      return f(Rows{}, std::integral_constant<int, 4>{});
    default:
      check(vectors == NormTeams::kMostVectors, "rows of a norm are wider than its kernel can hold");
      return f(Rows{}, std::integral_constant<int, NormTeams::kMostVectors>{});
  }
}

// Whether operands, those that are there, make up rows of SameType<T>.
inline bool same_type_rows(DType dtype, std::int64_t columns, std::initializer_list<RowOperand> operands) {
  if (columns % (16 / size_of(dtype)) != 0) return false;
  for (const RowOperand& operand : operands)
    if (operand.data != nullptr &&
        (operand.dtype != dtype || operand.accumulate || !is_aligned(operand.data, 16)))
      return false;
  return true;
}

}  // namespace nadi::cuda
