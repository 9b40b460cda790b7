// Sums over the rows of a matrix: gradients of biases, and of norms' weights. column_sums_plan.h has the
// idea. Two ways to use it:
//
//   launch_column_sums(call, plan, source, target);        // all of it; a Source gives the rows
//   finish_column_sums(call, {...});                       // the second stage, after a kernel of one's own
//
// A Source hands out kVector neighbouring columns of a row: fetch(row, column) starts loading what it needs,
// values(raw, row, column, v) makes the numbers to be summed of it, and may store them.
#pragma once

#include "nadi/engine/cuda/column_sums_plan.h"
#include "nadi/engine/cuda/device_code.cuh"
#include "nadi/engine/cuda/kernel.h"

namespace nadi::cuda {

// Where sums are to be.
struct SumTarget {
  void* data = nullptr;
  DType dtype = DType::kF32;
  bool accumulate = false;
  // Sums that are a matrix, whose rows are padded: of so many elements, and so many from one to the next. 0:
  // they lie one after the other.
  std::int64_t row = 0, row_stride = 0;

  __device__ void put(std::int64_t column, float sum) const {
    const std::int64_t at = row == 0 ? column : column / row * row_stride + column % row;
    if (accumulate) sum += load_as_float(data, dtype, at);
    store_float(data, dtype, at, sum);
  }
};

inline SumTarget sum_target(const OpCall& op, std::size_t output) {
  const Operand& to = op.outputs[output];
  const bool padded = to.row_stride() != to.columns();
  return {.data = to.data,
          .dtype = to.dtype(),
          .accumulate = op.accumulates(output),
          .row = padded ? to.columns() : 0,
          .row_stride = to.row_stride()};
}

// The sums of several matrices that have the same extents, each with its parts one after the other.
struct PartialSums {
  static constexpr int kMost = 3;
  const float* parts = nullptr;  // [targets, part_count, columns]
  std::int64_t part_count = 0;
  std::int64_t columns = 0;
  SumTarget targets[kMost];
  int count = 0;
};

namespace column_sums {

inline constexpr int kWarps = 8;
inline constexpr int kThreads = kWarps * kWarp;
inline constexpr int kRowsAtOnce = 4;  // that a thread has under way

// 32 columns to a block; each warp adds every 32nd part.
template <int>
__global__ void __launch_bounds__(kWarp* kWarp) finish(const __grid_constant__ PartialSums sums) {
  __shared__ double shared[kWarp][kWarp + 1];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kWarp;
  double sum = 0;
  if (first + lane < sums.columns) {
    const float* parts = sums.parts + blockIdx.y * sums.part_count * sums.columns + first + lane;
    for (std::int64_t part = warp; part < sums.part_count; part += kWarp)
      sum += static_cast<double>(parts[part * sums.columns]);
  }
  shared[lane][warp] = sum;
  __syncthreads();
  // From here on a warp has a column.
  sum = shared[warp][lane];
  for (int offset = kWarp / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(kWholeWarp, sum, offset);
  if (lane == 0 && first + warp < sums.columns)
    sums.targets[blockIdx.y].put(first + warp, static_cast<float>(sum));
}

// A block has 32 lanes times kVector columns, and the rows of one part.
template <class Source>
__global__ void __launch_bounds__(kThreads)
    sum_tiles(const Source source, const ColumnSumsPlan plan, float* partials, const SumTarget target) {
  constexpr int kVector = Source::kVector;
  __shared__ float shared[kWarps][kWarp * kVector];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * kWarp * kVector;
  const std::int64_t column = first_column + lane * kVector;
  const std::int64_t part = blockIdx.y;
  const std::int64_t end =
      (part + 1) * plan.rows_per_part < plan.rows ? (part + 1) * plan.rows_per_part : plan.rows;
  float sums[kVector] = {};
  if (column < plan.columns) {
    for (std::int64_t row = part * plan.rows_per_part + warp; row < end; row += kWarps * kRowsAtOnce) {
      typename Source::Raw raw[kRowsAtOnce];
#pragma unroll
      for (int i = 0; i < kRowsAtOnce; ++i)
        if (row + i * kWarps < end) raw[i] = source.fetch(row + i * kWarps, column);
#pragma unroll
      for (int i = 0; i < kRowsAtOnce; ++i) {
        if (row + i * kWarps >= end) break;
        float values[kVector];
        source.values(raw[i], row + i * kWarps, column, values);
#pragma unroll
        for (int j = 0; j < kVector; ++j) sums[j] += values[j];
      }
    }
  }
#pragma unroll
  for (int j = 0; j < kVector; ++j) shared[warp][lane * kVector + j] = sums[j];
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kWarp * kVector; i += kThreads) {
    if (first_column + i >= plan.columns) break;
    float sum = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) sum += shared[w][i];
    if (plan.parts > 1)
      partials[part * plan.columns + first_column + i] = sum;
    else
      target.put(first_column + i, sum);
  }
}

// Few rows, one part: each thread has its columns in all of them.
template <class Source>
__global__ void __launch_bounds__(kThreads)
    sum_few_rows(const Source source, const ColumnSumsPlan plan, const SumTarget target) {
  constexpr int kVector = Source::kVector;
  const std::int64_t column = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kVector;
  if (column >= plan.columns) return;
  float sums[kVector] = {};
  for (std::int64_t row = 0; row < plan.rows; row += kRowsAtOnce) {
    typename Source::Raw raw[kRowsAtOnce];
#pragma unroll
    for (int i = 0; i < kRowsAtOnce; ++i)
      if (row + i < plan.rows) raw[i] = source.fetch(row + i, column);
#pragma unroll
    for (int i = 0; i < kRowsAtOnce; ++i) {
      if (row + i >= plan.rows) break;
      float values[kVector];
      source.values(raw[i], row + i, column, values);
#pragma unroll
      for (int j = 0; j < kVector; ++j) sums[j] += values[j];
    }
  }
#pragma unroll
  for (int j = 0; j < kVector; ++j) target.put(column + j, sums[j]);
}

}  // namespace column_sums

inline void finish_column_sums(const KernelCall& call, const PartialSums& sums) {
  if (sums.columns == 0 || sums.count == 0) return;
  const dim3 grid(blocks_for(sums.columns, kWarp), static_cast<unsigned>(sums.count));
  column_sums::finish<0><<<grid, kWarp * kWarp, 0, call.stream>>>(sums);
}

template <class Source>
void launch_column_sums(const KernelCall& call, const ColumnSumsPlan& plan, const Source& source,
                        const SumTarget& target) {
  if (plan.columns == 0) return;
  constexpr int kFewRows = 64;
  if (plan.parts == 1 && plan.rows <= kFewRows && plan.columns >= kFewRows * kWarp) {
    column_sums::sum_few_rows<<<blocks_for(plan.columns, column_sums::kThreads * Source::kVector),
                                column_sums::kThreads, 0, call.stream>>>(source, plan, target);
  } else {
    auto* partials = reinterpret_cast<float*>(call.workspace.data());
    const dim3 grid(blocks_for(plan.columns, kWarp * Source::kVector), static_cast<unsigned>(plan.parts));
    column_sums::sum_tiles<<<grid, column_sums::kThreads, 0, call.stream>>>(source, plan, partials, target);
    if (plan.parts > 1)
      finish_column_sums(call, {.parts = partials,
                                .part_count = plan.parts,
                                .columns = plan.columns,
                                .targets = {target},
                                .count = 1});
  }
  check_launch(call);
}

}  // namespace nadi::cuda
