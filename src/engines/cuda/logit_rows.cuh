// Rows of logits as blocks of threads read them: 16 bytes at a time from the first address that is a multiple
// of 16 on, single elements before and behind.
#pragma once

#include "nadi/cuda/device_code.cuh"
#include "nadi/cuda/integers.cuh"
#include "nadi/cuda/kernel.h"

namespace nadi::inline engines::cuda {

template <class T>
struct LogitRows {
  const T* data;
  std::int64_t row_stride;
  int columns;

  explicit LogitRows(const Operand& logits)
      : data(reinterpret_cast<const T*>(logits.data)),
        row_stride(logits.row_stride()),
        columns(static_cast<int>(logits.columns())) {}
  __device__ const T* row(std::int64_t i) const { return data + i * row_stride; }
};

// The first vocabulary entry of this rank's columns, and how many of them are no padding.
struct OwnColumns {
  std::int64_t first;
  int count;

  __device__ OwnColumns(int columns, std::int64_t vocabulary, const Integers& place)
      : first(place.data == nullptr ? 0 : place[0] * columns) {
    const std::int64_t left = vocabulary - first;
    count = left < 0 ? 0 : left < columns ? static_cast<int>(left) : columns;
  }
};

// e^x to about 2^-22, 0 far below 0.
__device__ inline float quick_exp(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x * 1.4426950408889634F));
  return result;
}

template <class T>
inline constexpr int kVectorOf = 16 / static_cast<int>(sizeof(T));

// How `count` elements from an address on divide into single ones and vectors.
template <class T>
struct RowParts {
  int head;     // single elements before the first vector
  int vectors;  // of kVectorOf<T> elements
  int rest;     // single elements in all: the head, and those behind the vectors

  __device__ RowParts(const T* row, int count) {
    const auto offset = static_cast<int>(reinterpret_cast<std::uintptr_t>(row) % 16 / sizeof(T));
    head = min(offset == 0 ? 0 : kVectorOf<T> - offset, count);
    vectors = (count - head) / kVectorOf<T>;
    rest = count - vectors * kVectorOf<T>;
  }
  __device__ int first_of(int vector) const { return head + vector * kVectorOf<T>; }
  __device__ int single(int i) const { return i < head ? i : i + vectors * kVectorOf<T>; }
};

// All threads of a block together: visit(x, first) with x the values, as a float array of one or of
// kVectorOf<T> elements, from column `first` on. Each element is visited by one thread.
template <class T, class Visit>
__device__ void walk_row(const T* row, int count, const Visit& visit) {
  constexpr int kVector = kVectorOf<T>;
  constexpr int kInFlight = 4;
  const RowParts<T> parts(row, count);
  const auto threads = static_cast<int>(blockDim.x);
  for (int v = static_cast<int>(threadIdx.x); v < parts.vectors; v += kInFlight * threads) {
    Vector<T, kVector> values[kInFlight];
#pragma unroll
    for (int j = 0; j < kInFlight; ++j)
      if (v + j * threads < parts.vectors)
        values[j] = load_vector<T, kVector>(row + parts.first_of(v + j * threads));
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      if (v + j * threads >= parts.vectors) break;
      float x[kVector];
#pragma unroll
      for (int k = 0; k < kVector; ++k) x[k] = values[j].at(k);
      visit(x, parts.first_of(v + j * threads));
    }
  }
  for (int i = static_cast<int>(threadIdx.x); i < parts.rest; i += threads) {
    float x[1] = {to_float(row[parts.single(i)])};
    visit(x, parts.single(i));
  }
}

// Output 0 of the call's first op: the sum of the rows' losses, which its workspace begins with, over the
// count (loss_kernels.cu).
void put_loss(const KernelCall& call);

}  // namespace nadi::inline engines::cuda
