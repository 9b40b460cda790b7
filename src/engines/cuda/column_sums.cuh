// Sums over the rows of a matrix: gradients of biases, and of norms' weights. column_sums_plan.h has the
// idea. Two ways to use it:
//
//   launch_column_sums(call, plan, source, target);        // all of it; a Source gives the rows
//   finish_column_sums(call, {...});                       // the second stage, after a kernel of one's own
//
// A Source hands out kVector neighbouring columns of a row: fetch(row, column) starts loading what it needs,
// values(raw, row, column, v) makes the numbers to be summed of it, and may store them. kRowsAtOnce says how
// many rows a thread has under way: four where values() is short; one where it is long, since code that is
// run through only a few times takes longer to be fetched than to be executed. ready(), where a Source has
// it, makes the one that is used, with what it reads once from memory of the device.
#pragma once

#include "nadi/cuda/column_sums_plan.h"
#include "nadi/cuda/device_code.cuh"
#include "nadi/cuda/kernel.h"

namespace nadi::inline engines::cuda {

// Where sums are to be.
struct SumTarget {
  void* data = nullptr;
  DType dtype = DType::kF32;
  bool accumulate = false;
  // Sums that are a matrix, whose rows are padded: of so many elements, and so many from one to the next. 0:
  // they lie one after the other.
  std::int64_t row = 0, row_stride = 0;

  __device__ std::int64_t place_of(std::int64_t column) const {
    if (row == 0) return column;
    const auto at = static_cast<std::uint32_t>(column), columns = static_cast<std::uint32_t>(row);
    return at / columns * row_stride + at % columns;
  }
  // What a sum is added to.
  __device__ float before(std::int64_t column) const {
    return accumulate ? load_as_float(data, dtype, place_of(column)) : 0.0F;
  }
  __device__ void put(std::int64_t column, float sum) const {
    store_float(data, dtype, place_of(column), sum);
  }
  __device__ void add(std::int64_t column, float sum) const { put(column, before(column) + sum); }

  // Sums of neighbouring columns, of which there are `columns` in all.
  template <int N>
  __device__ void add(std::int64_t column, std::int64_t columns, const float (&sums)[N]) const {
    auto* const to = static_cast<float*>(data) + column;
    if (N % 4 == 0 && dtype == DType::kF32 && row == 0 && column + N <= columns &&
        reinterpret_cast<std::uintptr_t>(to) % 16 == 0) {
#pragma unroll
      for (int i = 0; i + 4 <= N; i += 4) {
        float4 four{sums[i], sums[i + 1], sums[i + 2], sums[i + 3]};
        if (accumulate) {
          const float4 was = *reinterpret_cast<const float4*>(to + i);
          four = {was.x + four.x, was.y + four.y, was.z + four.z, was.w + four.w};
        }
        *reinterpret_cast<float4*>(to + i) = four;
      }
    } else {
#pragma unroll
      for (int i = 0; i < N; ++i)
        if (column + i < columns) add(column + i, sums[i]);
    }
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

// Sums of a part of the rows: a block has vectors side by side that are 128 bytes of a row, and many rows at once.
inline constexpr int kThreads = 256;
template <class Source>
inline constexpr int kLanes = Source::kVector == 1 ? kWarp : 8;
// Sums of all rows: only 32 bytes side by side, so that a matrix of few columns has blocks enough.
inline constexpr int kThreadsForAll = 1024;
template <class Source>
inline constexpr int kLanesForAll = Source::kVector == 1 ? 8 : 2;

// 32 columns to a block; each warp adds every 32nd part, of which several are under way.
template <int>
__global__ void __launch_bounds__(kWarp* kWarp) finish(const __grid_constant__ PartialSums sums) {
  wait_for_kernels_before();
  constexpr int kPartsAtOnce = 6;
  __shared__ double shared[kWarp][kWarp + 1];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const SumTarget& target = sums.targets[blockIdx.y];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kWarp;
  const bool puts = lane == 0 && first + warp < sums.columns;
  const float before = puts ? target.before(first + warp) : 0.0F;
  double sum = 0;
  if (first + lane < sums.columns) {
    const float* parts = sums.parts + blockIdx.y * sums.part_count * sums.columns + first + lane;
#pragma unroll 1
    for (std::int64_t part = warp; part < sums.part_count; part += kPartsAtOnce * kWarp) {
      float held[kPartsAtOnce];
#pragma unroll
      for (int i = 0; i < kPartsAtOnce; ++i)
        held[i] = part + i * kWarp < sums.part_count ? parts[(part + i * kWarp) * sums.columns] : 0.0F;
#pragma unroll
      for (int i = 0; i < kPartsAtOnce; ++i) sum += static_cast<double>(held[i]);
    }
  }
  shared[lane][warp] = sum;
  __syncthreads();
  // From here on a warp has a column.
  sum = shared[warp][lane];
  for (int offset = kWarp / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(kWholeWarp, sum, offset);
  if (puts) target.put(first + warp, before + static_cast<float>(sum));
}

template <class Source>
__device__ Source ready_source(const Source& source) {
  if constexpr (requires { source.ready(); })
    return source.ready();
  else
    return source;
}

// sums += every step-th row of a source, from `row` on.
template <int kAtOnce, class Source>
__device__ void add_rows(const Source& given, std::int64_t column, std::int64_t row, std::int64_t end,
                         int step, float (&sums)[Source::kVector]) {
  const Source source = ready_source(given);
  typename Source::Raw raw[kAtOnce];
  const auto fetch = [&](std::int64_t first) {
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i)
      if (first + i * step < end) raw[i] = source.fetch(first + i * step, column);
  };
  fetch(row);
#pragma unroll 1
  for (; row < end; row += kAtOnce * step) {
    typename Source::Raw now[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) now[i] = raw[i];
    fetch(row + kAtOnce * step);
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (row + i * step >= end) break;
      float values[Source::kVector];
      source.values(now[i], row + i * step, column, values);
#pragma unroll
      for (int j = 0; j < Source::kVector; ++j) sums[j] += values[j];
    }
  }
}

// By the block that comes last: the sums of a tile's parts, in their order whichever block it is. Threads
// share out the tile's columns, four to a thread, and the parts. The results are in `shared`.
template <int kColumns>
__device__ void sum_parts(const float* parts, std::int64_t count, double* shared) {
  constexpr int kWide = 4, kAcross = kColumns / kWide, kGroups = kThreads / kAcross, kPartsAtOnce = 4;
  const int place = static_cast<int>(threadIdx.x) % kAcross, group = static_cast<int>(threadIdx.x) / kAcross;
  double sums[kWide] = {};
#pragma unroll 1
  for (std::int64_t part = group; part < count; part += kPartsAtOnce * kGroups) {
    float4 held[kPartsAtOnce];
#pragma unroll
    for (int i = 0; i < kPartsAtOnce; ++i) {
      const std::int64_t at = part + i * kGroups;
      held[i] = at < count ? __ldcg(reinterpret_cast<const float4*>(parts + at * kColumns) + place)
                           : float4{0, 0, 0, 0};
    }
#pragma unroll
    for (int i = 0; i < kPartsAtOnce; ++i) {
      sums[0] += static_cast<double>(held[i].x);
      sums[1] += static_cast<double>(held[i].y);
      sums[2] += static_cast<double>(held[i].z);
      sums[3] += static_cast<double>(held[i].w);
    }
  }
#pragma unroll
  for (int j = 0; j < kWide; ++j) shared[group * kColumns + place * kWide + j] = sums[j];
  __syncthreads();
  if (threadIdx.x < kColumns) {
    double sum = 0;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) sum += shared[g * kColumns + threadIdx.x];
    shared[threadIdx.x] = sum;  // of its own column, which no other thread reads
  }
}

// The sum of a block's rows, of the column of each of its first threads.
template <int kVector, int kAcross, int kBlock>
__device__ float sum_of_block(float (&sums)[kVector]) {
  constexpr int kWarps = kBlock / kWarp, kColumns = kAcross * kVector;
  __shared__ float shared[kWarps][kColumns];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
#pragma unroll
  for (int offset = kAcross; offset < kWarp; offset *= 2)
#pragma unroll
    for (int j = 0; j < kVector; ++j) sums[j] += __shfl_xor_sync(kWholeWarp, sums[j], offset);
  if (lane < kAcross)
#pragma unroll
    for (int j = 0; j < kVector; ++j) shared[warp][lane * kVector + j] = sums[j];
  __syncthreads();
  float sum = 0;
  if (threadIdx.x < kColumns)
#pragma unroll
    for (int w = 0; w < kWarps; ++w) sum += shared[w][threadIdx.x];
  return sum;
}

// A block has a tile of columns, and the rows of one part. Parts of a tile lie one after the other.
template <class Source>
__global__ void __launch_bounds__(kThreads, 4)
    sum_tiles(const Source source, const ColumnSumsPlan plan, float* partials, unsigned* parts_left,
              const SumTarget target) {
  constexpr int kVector = Source::kVector, kAcross = kLanes<Source>, kColumns = kAcross * kVector;
  constexpr int kRows = kThreads / kAcross;
  static_assert(ColumnSumsPlan::kTile % kColumns == 0);
  static_assert(ColumnSumsPlan::kMostColumns / kColumns <= Device::kCounters);
  const int lane = static_cast<int>(threadIdx.x) % kAcross, row = static_cast<int>(threadIdx.x) / kAcross;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * kColumns;
  const std::int64_t column = first_column + lane * kVector;
  const std::int64_t first_row = blockIdx.y * plan.rows_per_part;
  const std::int64_t end = min(first_row + plan.rows_per_part, plan.rows);
  float sums[kVector] = {};
  if (column < plan.columns) add_rows<Source::kRowsAtOnce>(source, column, first_row + row, end, kRows, sums);
  const float sum = sum_of_block<kVector, kAcross, kThreads>(sums);
  const bool has_column = threadIdx.x < kColumns && first_column + threadIdx.x < plan.columns;
  if (plan.parts == 1) {
    if (has_column) target.add(first_column + threadIdx.x, sum);
    return;
  }
  float* const parts = partials + blockIdx.x * plan.parts * kColumns;
  if (threadIdx.x < kColumns) parts[blockIdx.y * kColumns + threadIdx.x] = sum;

  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(&parts_left[blockIdx.x], 1U) + 1 == gridDim.y;
    if (last) parts_left[blockIdx.x] = 0;
    __threadfence();
  }
  __syncthreads();
  if (!last) return;
  __shared__ double totals[kThreads * 4];
  sum_parts<kColumns>(parts, plan.parts, totals);
  if (has_column) target.add(first_column + threadIdx.x, static_cast<float>(totals[threadIdx.x]));
}

// One part: a block has all rows of some columns.
template <class Source>
__global__ void __launch_bounds__(kThreadsForAll)
    sum_columns(const Source source, const ColumnSumsPlan plan, const SumTarget target) {
  constexpr int kVector = Source::kVector, kAcross = kLanesForAll<Source>, kColumns = kAcross * kVector;
  const int lane = static_cast<int>(threadIdx.x) % kAcross, row = static_cast<int>(threadIdx.x) / kAcross;
  const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.x) * kColumns;
  const std::int64_t column = first_column + lane * kVector;
  float sums[kVector] = {};
  if (column < plan.columns)
    add_rows<Source::kRowsAtOnce>(source, column, row, plan.rows, kThreadsForAll / kAcross, sums);
  const float sum = sum_of_block<kVector, kAcross, kThreadsForAll>(sums);
  if (threadIdx.x < kColumns && first_column + threadIdx.x < plan.columns)
    target.add(first_column + threadIdx.x, sum);
}

// Few rows, one part: each thread has its columns in all of them.
template <class Source>
__global__ void __launch_bounds__(kThreads)
    sum_few_rows(const Source source, const ColumnSumsPlan plan, const SumTarget target) {
  const std::int64_t column =
      (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * Source::kVector;
  if (column >= plan.columns) return;
  float sums[Source::kVector] = {};
  add_rows<Source::kRowsAtOnce>(source, column, 0, plan.rows, 1, sums);
  target.add(column, plan.columns, sums);
}

}  // namespace column_sums

// Adds the parts that the kernel before it leaves, which may say let_next_begin() when it begins.
inline void finish_column_sums(const KernelCall& call, const PartialSums& sums) {
  if (sums.columns == 0 || sums.count == 0) return;
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks_for(sums.columns, kWarp), static_cast<unsigned>(sums.count));
  config.blockDim = dim3(kWarp * kWarp);
  config.stream = call.stream;
  config.attrs = &overlap;
  config.numAttrs = call.device.traits().compute_capability >= 90 ? 1 : 0;
  cudaLaunchKernelEx(&config, column_sums::finish<0>, sums);
}

template <class Source>
void launch_column_sums(const KernelCall& call, const ColumnSumsPlan& plan, const Source& source,
                        const SumTarget& target) {
  using namespace column_sums;
  if (plan.columns == 0) return;
  constexpr int kFewRows = 64;
  if (plan.parts > 1) {
    const dim3 grid(blocks_for(plan.columns, kLanes<Source> * Source::kVector),
                    static_cast<unsigned>(plan.parts));
    sum_tiles<<<grid, kThreads, 0, call.stream>>>(
        source, plan, reinterpret_cast<float*>(call.workspace.data()), call.device.counters(), target);
  } else if (plan.rows <= kFewRows && plan.columns >= kFewRows * kWarp) {
    sum_few_rows<<<blocks_for(plan.columns, kThreads * Source::kVector), kThreads, 0, call.stream>>>(
        source, plan, target);
  } else if (plan.small) {
    sum_columns<<<blocks_for(plan.columns, kLanesForAll<Source> * Source::kVector), kThreadsForAll, 0,
                  call.stream>>>(source, plan, target);
  } else {
    sum_tiles<<<blocks_for(plan.columns, kLanes<Source> * Source::kVector), kThreads, 0, call.stream>>>(
        source, plan, nullptr, nullptr, target);
  }
  check_launch(call);
}

}  // namespace nadi::inline engines::cuda
