// Rows of norms in registers: reading and writing them, and sums over a row. norm_plan.h says who has what.
//
// Two kinds of rows. SameType<T>: all operands have elements of type T, begin at multiples of 16 bytes, and a
// row is a whole number of vectors. AnyType: any types, any addresses, element by element.
#pragma once

#include <initializer_list>
#include <string>
#include <type_traits>

#include "nadi/cuda/device_code.cuh"
#include "nadi/cuda/kernel.h"
#include "nadi/cuda/norm_plan.h"
#include "nadi/cuda/packed.cuh"

namespace nadi::inline engines::cuda {

// A matrix of which rows are read or written. nullptr: there is none.
struct RowOperand {
  void* data = nullptr;
  DType dtype = DType::kF32;
  bool accumulate = false;
};

inline RowOperand row_operand(const Operand& operand) {
  return {.data = operand.data, .dtype = operand.dtype()};
}
inline RowOperand row_output(const OpCall& op, std::size_t i) {
  return {.data = op.outputs[i].data, .dtype = op.out_dtype(i), .accumulate = op.accumulates(i)};
}

// `at` is the place of the first element, `left` how many there are in the row from there on.
template <class T>
struct SameType {
  static constexpr int kVector = 16 / sizeof(T);
  static constexpr bool kWhole = true;  // a vector is all in the row, or not at all
  using Raw = Packed<T>;

  static __device__ Raw load(const RowOperand& operand, std::int64_t at, int) {
    return load_packed(static_cast<const T*>(operand.data) + at);
  }
  static __device__ void store(const RowOperand& operand, std::int64_t at, int,
                               const float (&values)[kVector]) {
    store_packed(static_cast<T*>(operand.data) + at, packed<T>(values));
  }
  // Rounds to what is in memory.
  static __device__ void round(const RowOperand&, float (&values)[kVector]) {
    const Packed<T> rounded = packed<T>(values);
#pragma unroll
    for (int i = 0; i < kVector; ++i) values[i] = rounded.at(i);
  }
};

struct AnyType {
  static constexpr int kVector = NormTeams::kAnyVector;
  static constexpr bool kWhole = false;
  using Raw = Vector<float, kVector>;

  static __device__ Raw load(const RowOperand& operand, std::int64_t at, int left) {
    Raw raw;
#pragma unroll
    for (int i = 0; i < kVector; ++i)
      raw.elements[i] = i < left ? load_as_float(operand.data, operand.dtype, at + i) : 0.0F;
    return raw;
  }
  static __device__ void store(const RowOperand& operand, std::int64_t at, int left,
                               const float (&values)[kVector]) {
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      if (i >= left) break;
      float value = values[i];
      if (operand.accumulate) value += load_as_float(operand.data, operand.dtype, at + i);
      store_float(operand.data, operand.dtype, at + i, value);
    }
  }
  static __device__ void round(const RowOperand& operand, float (&values)[kVector]) {
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      if (operand.dtype == DType::kBF16) values[i] = to_float(from_float<__nv_bfloat16>(values[i]));
      if (operand.dtype == DType::kF16) values[i] = to_float(from_float<__half>(values[i]));
    }
  }
};

// Sums over the threads of a team, the same result in each: of up to two numbers at once.
//
//   __shared__ SumScratch scratch;
//   TeamSums<true> sums(scratch, warps, team);
//   const float total = sums(x).x;
//
// With kShared, teams of several warps share a block and go their own ways: each has a barrier of its own. (A
// kernel that uses one of them claims all that there are.) Two places are used in turns, so that one barrier
// per sum is enough.
struct SumScratch {
  float2 of_warps[2][kWarp];
};
template <bool kShared>
class TeamSums {
 public:
  __device__ TeamSums(SumScratch& scratch, int warps, int team)
      : scratch_(scratch), warps_(warps), team_(team) {}

  __device__ float2 operator()(float2 x) {
    x = of_warp(x);
    if (warps_ == 1) return x;
    const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
    turn_ ^= 1;
    if (lane == 0) scratch_.of_warps[turn_][warp] = x;
    if constexpr (!kShared)
      __syncthreads();
    else
      asm volatile("bar.sync %0, %1;" ::"r"(team_ + 1), "r"(warps_ * kWarp) : "memory");
    return of_warp(lane < warps_ ? scratch_.of_warps[turn_][team_ * warps_ + lane] : float2{0, 0});
  }
  __device__ float operator()(float x) { return (*this)(float2{x, 0}).x; }

 private:
  static __device__ float2 of_warp(float2 x) {
#pragma unroll
    for (int offset = kWarp / 2; offset > 0; offset /= 2) {
      x.x += __shfl_xor_sync(kWholeWarp, x.x, offset);
      x.y += __shfl_xor_sync(kWholeWarp, x.y, offset);
    }
    return x;
  }

  SumScratch& scratch_;
  int warps_, team_;
  int turn_ = 0;
};

// Calls with the kind of rows, and the vectors of a thread as an integral constant: one of those named.
template <int... kVectors, class F>
void with_rows(const NormTeams& teams, DType dtype, const F& f) {
  with_type(dtype, [&](auto tag) {
    using Rows = SameType<typename decltype(tag)::type>;
    ((teams.vectors == kVectors ? f(Rows{}, std::integral_constant<int, kVectors>{}) : void()), ...);
  });
}
template <class F>
void with_any_rows(const NormTeams& teams, const F& f) {
  if (teams.warps > NormTeams::kMostWarps)
    throw environment_error("norms over more than " + std::to_string(NormTeams::kMostColumns) +
                            " elements are not supported on a GPU");
  if (teams.vectors == 1) return f(AnyType{}, std::integral_constant<int, 1>{});
  return f(AnyType{}, std::integral_constant<int, NormTeams::kMostVectors>{});
}

// Whether operands, those that are there, make up rows of SameType<T>. Weights and biases are rows, too.
inline bool same_type_rows(DType dtype, std::int64_t columns, std::initializer_list<RowOperand> operands) {
  if (columns % (16 / size_of(dtype)) != 0) return false;
  for (const RowOperand& operand : operands)
    if (operand.data != nullptr &&
        (operand.dtype != dtype || operand.accumulate || !is_aligned(operand.data, 16)))
      return false;
  return true;
}

}  // namespace nadi::inline engines::cuda
