// Attention of few queries with a cache of keys and values. Reading the cache takes the time, so the keys of
// a head are spread over blocks (few_queries.h), each row of the cache is read once for all queries of its
// group, and the block that ends last adds up the parts. A row of 8 elements per lane takes `lanes` lanes;
// groups of so many lanes take keys in turn, each with its own running softmax.
#include <cmath>

#include "nadi/engine/cuda/attention_device.cuh"
#include "nadi/engine/cuda/attention_launch.h"
#include "nadi/engine/cuda/few_queries.h"

namespace nadi::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / kWarp;
constexpr int kPerLane = 8;
constexpr int kBatch = 4;  // keys of a lane whose loads are in flight at once
constexpr int kMostColumns = static_cast<int>(kMostHeadWidth);

// Blocks of a head that are done. Each launch leaves zeros, so that the next may begin with them; launches of
// one process follow each other on one stream.
constexpr int kCounters = 1024;
__device__ unsigned parts_done[kCounters];

struct FewQueriesCall {
  AttentionForward forward;
  float* results;  // [blocks per part][parts][rows][D + 2]: sums, then maximum and denominator
  int rows;        // of a key-value head
  int lanes;       // of a row
  bool aligned;
};

template <class T>
__device__ void load_elements(const T* row, int d, int width, std::int64_t stride, bool aligned,
                              float (&to)[kPerLane]) {
  if (aligned && d < width) {
    constexpr int kAtOnce = 16 / static_cast<int>(sizeof(T));
#pragma unroll
    for (int i = 0; i < kPerLane; i += kAtOnce) {
      const auto some = load_vector<T, kAtOnce>(row + d + i);
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) to[i + j] = some.at(j);
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) to[i] = d + i < width ? to_float(row[(d + i) * stride]) : 0.0F;
}

// Two parts of a row's softmax become one: what their sums are to be multiplied by.
__device__ inline float finite(float x) {
  return x == -INFINITY ? 0.0F : x;
}

template <class T, int kRows>
__global__ __launch_bounds__(kThreads) void few_queries_kernel(const FewQueriesCall call) {
  const AttentionOperands& in = call.forward.in;
  const int D = static_cast<int>(in.extents.D), S = static_cast<int>(in.extents.S);
  const int K = static_cast<int>(in.extents.K), group = static_cast<int>(in.group);
  const int part = static_cast<int>(blockIdx.x), parts = static_cast<int>(gridDim.x);
  const int kv_head = static_cast<int>(blockIdx.y) % K, first_row = static_cast<int>(blockIdx.y) / K * kRows;
  const int b = static_cast<int>(blockIdx.z), thread = static_cast<int>(threadIdx.x);
  const int lane = thread % kWarp, warp = thread / kWarp;

  int limits[kRows], most = 0;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int row = first_row + r;
    limits[r] = row < call.rows ? min(S, attention_limit(in, b, row / group)) : 0;
    most = max(most, limits[r]);
  }
  constexpr int kLeast = static_cast<int>(FewQueries::kLeastKeys);
  const int per_part = ((most + parts - 1) / parts + kLeast - 1) / kLeast * kLeast;
  const int active = max(1, (most + per_part - 1) / max(1, per_part));
  if (part >= active) return;
  const int begin = part * per_part, end = min(most, begin + per_part);

  const int d = lane % call.lanes * kPerLane;
  const int taker = thread / call.lanes, takers = kThreads / call.lanes;
  // Powers of two are what the hardware has.
  const float scale = in.scale * 1.44269504F;
  float q[kRows][kPerLane];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int row = first_row + r;
    const std::int64_t at =
        row < call.rows ? row_offset(in.q, b, row / group, kv_head * group + row % group) : 0;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i)
      q[r][i] = row < call.rows && d + i < D
                    ? load_as_float(in.q.data, in.q.dtype, at + (d + i) * in.q.element_stride) * scale
                    : 0.0F;
  }

  const T* const keys = reinterpret_cast<const T*>(in.k.data) + row_offset(in.k, b, 0, kv_head);
  const T* const values = reinterpret_cast<const T*>(in.v.data) + row_offset(in.v, b, 0, kv_head);
  float largest[kRows], denominator[kRows], sums[kRows][kPerLane];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    largest[r] = -INFINITY;
    denominator[r] = 0;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) sums[r][i] = 0;
  }
  for (int base = begin; base < end; base += takers * kBatch) {
    float k[kBatch][kPerLane], v[kBatch][kPerLane];
#pragma unroll
    for (int u = 0; u < kBatch; ++u) {
      // Behind the end the last row again, which is masked below.
      const int key = min(base + u * takers + taker, end - 1);
      load_elements(keys + key * in.k.token_stride, d, D, in.k.element_stride, call.aligned, k[u]);
      load_elements(values + key * in.v.token_stride, d, D, in.v.element_stride, call.aligned, v[u]);
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      float scores[kBatch], highest = largest[r];
#pragma unroll
      for (int u = 0; u < kBatch; ++u) {
        scores[u] = 0;
#pragma unroll
        for (int i = 0; i < kPerLane; ++i) scores[u] += q[r][i] * k[u][i];
      }
      for (int offset = call.lanes / 2; offset > 0; offset /= 2)
#pragma unroll
        for (int u = 0; u < kBatch; ++u) scores[u] += __shfl_xor_sync(kWholeWarp, scores[u], offset);
#pragma unroll
      for (int u = 0; u < kBatch; ++u) {
        const int key = base + u * takers + taker;
        if (key >= min(end, limits[r])) scores[u] = -INFINITY;
        highest = fmaxf(highest, scores[u]);
      }
      const float correction = exp2f(largest[r] - finite(highest));
      largest[r] = highest;
      denominator[r] *= correction;
#pragma unroll
      for (int i = 0; i < kPerLane; ++i) sums[r][i] *= correction;
#pragma unroll
      for (int u = 0; u < kBatch; ++u) {
        const float p = exp2f(scores[u] - finite(highest));
        denominator[r] += p;
#pragma unroll
        for (int i = 0; i < kPerLane; ++i) sums[r][i] += p * v[u][i];
      }
    }
  }

  // The takers of a warp, then the warps of the block.
  __shared__ float warp_sums[kWarps][kRows][kMostColumns];
  __shared__ float warp_largest[kWarps][kRows], warp_denominator[kWarps][kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    for (int offset = call.lanes; offset < kWarp; offset *= 2) {
      const float highest = fmaxf(largest[r], __shfl_xor_sync(kWholeWarp, largest[r], offset));
      const float correction = exp2f(largest[r] - finite(highest));
      largest[r] = highest;
      denominator[r] *= correction;
      denominator[r] += __shfl_xor_sync(kWholeWarp, denominator[r], offset);
#pragma unroll
      for (int i = 0; i < kPerLane; ++i) {
        sums[r][i] *= correction;
        sums[r][i] += __shfl_xor_sync(kWholeWarp, sums[r][i], offset);
      }
    }
    if (lane < call.lanes) {
#pragma unroll
      for (int i = 0; i < kPerLane; ++i)
        if (d + i < D) warp_sums[warp][r][d + i] = sums[r][i];
    }
    if (lane == 0) {
      warp_largest[warp][r] = largest[r];
      warp_denominator[warp][r] = denominator[r];
    }
  }
  __syncthreads();

  const HeadRows& y = call.forward.y;
  const auto store = [&](int r, int column, float sum, float total) {
    const int row = first_row + r;
    if (row >= call.rows) return;
    store_float(y.data, y.dtype,
                row_offset(y, b, row / group, kv_head * group + row % group) + column * y.element_stride,
                total > 0 ? sum / total : 0.0F);
  };
  const int block = b * static_cast<int>(gridDim.y) + static_cast<int>(blockIdx.y);
  const int result_row = D + 2;
  float* const head_results = call.results + static_cast<std::int64_t>(block) * parts * kRows * result_row;
  for (int i = thread; i < kRows * D; i += kThreads) {
    const int r = i / D, column = i % D;
    float highest = -INFINITY, sum = 0, total = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) highest = fmaxf(highest, warp_largest[w][r]);
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      const float correction = exp2f(warp_largest[w][r] - finite(highest));
      sum += warp_sums[w][r][column] * correction;
      total += warp_denominator[w][r] * correction;
    }
    if (active == 1) {
      store(r, column, sum, total);
      continue;
    }
    float* const result = head_results + (part * kRows + r) * result_row;
    result[column] = sum;
    if (column == 0) {
      result[D] = highest;
      result[D + 1] = total;
    }
  }
  if (active == 1) return;

  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (thread == 0) {
    const unsigned before = atomicInc(&parts_done[block], static_cast<unsigned>(active) - 1);
    last = before == static_cast<unsigned>(active) - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  for (int i = thread; i < kRows * D; i += kThreads) {
    const int r = i / D, column = i % D;
    float highest = -INFINITY, sum = 0, total = 0;
#pragma unroll 4
    for (int other = 0; other < active; ++other)
      highest = fmaxf(highest, __ldcg(head_results + (other * kRows + r) * result_row + D));
#pragma unroll 4
    for (int other = 0; other < active; ++other) {
      const float* const result = head_results + (other * kRows + r) * result_row;
      const float correction = exp2f(__ldcg(result + D) - finite(highest));
      sum += __ldcg(result + column) * correction;
      total += __ldcg(result + D + 1) * correction;
    }
    store(r, column, sum, total);
  }
}

}  // namespace

bool launch_few_queries(const AttentionForward& forward, float* partial_results, const DeviceTraits& traits,
                        cudaStream_t stream) {
  const AttentionOperands& in = forward.in;
  const AttentionExtents& e = in.extents;
  const bool takes = e.T <= FewQueries::kMostTokens && e.D <= kMostHeadWidth && !in.drops() &&
                     forward.statistics == nullptr && in.query_positions == nullptr &&
                     in.k.dtype == in.v.dtype;
  if (!takes) return false;
  const FewQueries cut(e, traits);
  FewQueriesCall call{.forward = forward,
                      .results = partial_results,
                      .rows = static_cast<int>(cut.rows),
                      .lanes = 1,
                      .aligned = e.D % kPerLane == 0 && in.k.aligned(e.D) && in.v.aligned(e.D)};
  while (call.lanes * kPerLane < e.D) call.lanes *= 2;
  check(cut.parts == 1 || cut.heads <= kCounters, "few queries have more blocks than counters");
  const dim3 grid(static_cast<unsigned>(cut.parts), static_cast<unsigned>(cut.heads / e.B),
                  static_cast<unsigned>(e.B));
  with_type(in.k.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    switch (cut.block_rows) {
      case 1:
        return few_queries_kernel<T, 1><<<grid, kThreads, 0, stream>>>(call);
      case 2:
        return few_queries_kernel<T, 2><<<grid, kThreads, 0, stream>>>(call);
      case 4:
        return few_queries_kernel<T, 4><<<grid, kThreads, 0, stream>>>(call);
      default:
        return few_queries_kernel<T, 8><<<grid, kThreads, 0, stream>>>(call);
    }
  });
  return true;
}

}  // namespace nadi::cuda
