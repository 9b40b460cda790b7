// Attention of few queries with a cache of keys and values. Reading the cache takes the time, so the keys of
// a head are spread over blocks (few_queries.h), each row of the cache is read once for all queries of its
// group, and the block that ends last adds up the parts. A row of 8 elements per lane takes `lanes` lanes;
// groups of so many lanes take keys in turn, each with its own running softmax. Loads of several rows are in
// flight at once, so none of them may stand behind a branch.
#include <cmath>

#include "nadi/cuda/attention_device.cuh"
#include "nadi/cuda/attention_launch.h"
#include "nadi/cuda/few_queries.h"

namespace nadi::inline engines::cuda {
namespace {

// As many as there are registers for.
template <int kRows>
constexpr int kFewThreads = kRows > 4 ? 256 : 512;
constexpr int kPerLane = 8;
constexpr int kMostColumns = static_cast<int>(kMostHeadWidth);

struct FewQueriesCall {
  AttentionForward forward;
  unsigned* parts_done;  // blocks of a head that are done: Device::counters()
  float* results;        // [blocks per part][parts][rows][D + 2]: sums, then maximum and denominator
  int rows;              // of a key-value head
  int lanes;             // of a row
};

// Eight elements of a row as they are in memory. Behind the row's end they are others of the row.
template <class T, bool kAligned>
struct Elements {
  static constexpr int kAtOnce = 16 / static_cast<int>(sizeof(T));
  Vector<T, kAtOnce> some[kPerLane / kAtOnce];

  __device__ void load(const T* row, int d, int width, std::int64_t stride) {
    if constexpr (kAligned) {
      const T* const from = row + min(d, width - kPerLane);
#pragma unroll
      for (int i = 0; i < kPerLane; i += kAtOnce) some[i / kAtOnce] = load_vector<T, kAtOnce>(from + i);
    } else {
#pragma unroll
      for (int i = 0; i < kPerLane; ++i)
        some[i / kAtOnce].elements[i % kAtOnce] = row[min(d + i, width - 1) * stride];
    }
  }
  __device__ float at(int i) const {
    return some[i / kAtOnce].at(i % kAtOnce);
  }
};

// Where nothing was seen yet, any finite number serves as the maximum.
__device__ inline float finite(float x) {
  return x == -INFINITY ? 0.0F : x;
}

template <class T, bool kAligned, int kRows>
__global__ __launch_bounds__(kFewThreads<kRows>, 1) void few_queries_kernel(const FewQueriesCall call) {
  constexpr int kThreads = kFewThreads<kRows>, kWarps = kThreads / kWarp;
  // Keys of a lane whose loads are in flight at once.
  constexpr int kBatch = sizeof(T) == 4 ? 2 : 4;
  const AttentionOperands& in = call.forward.in;
  const int D = static_cast<int>(in.extents.D), S = static_cast<int>(in.extents.S);
  const int K = static_cast<int>(in.extents.K), group = static_cast<int>(in.group);
  const int part = static_cast<int>(blockIdx.x), parts = static_cast<int>(gridDim.x);
  const int kv_head = static_cast<int>(blockIdx.y) % K, first_row = static_cast<int>(blockIdx.y) / K * kRows;
  const int b = static_cast<int>(blockIdx.z), thread = static_cast<int>(threadIdx.x);
  const int lane = thread % kWarp, warp = thread / kWarp;
  const int d = lane % call.lanes * kPerLane;
  const int taker = thread / call.lanes, takers = kThreads / call.lanes;
  const auto token_of = [&](int r) { return min(first_row + r, call.rows - 1) / group; };
  const auto head_of = [&](int r) { return kv_head * group + min(first_row + r, call.rows - 1) % group; };

  // This kernel may begin while the one before ends, and the next while this one does.
#if __CUDA_ARCH__ >= 900
  let_next_begin();
  wait_for_kernels_before();
#endif
  Elements<T, kAligned> raw_q[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r)
    raw_q[r].load(reinterpret_cast<const T*>(in.q.data) + row_offset(in.q, b, token_of(r), head_of(r)), d, D,
                  in.q.element_stride);
  const int first_limit = attention_limit(in, b, 0), last_limit = attention_limit(in, b, token_of(kRows - 1));
  const int most = max(0, min(S, last_limit));
  constexpr int kLeast = static_cast<int>(FewQueries::kLeastKeys);
  constexpr int kOfOne = static_cast<int>(FewQueries::kKeysOfOnePart);
  const int share = max(kLeast, (most + parts - 1) / parts);
  const int per_part = most <= kOfOne ? kOfOne : (share + takers - 1) / takers * takers;
  const int active = max(1, (most + per_part - 1) / per_part);
  if (part >= active) return;
  const int begin = part * per_part, end = min(most, begin + per_part);

  // Powers of two are what the hardware has.
  const float scale = in.scale * 1.44269504F;
  int limits[kRows];
  float q[kRows][kPerLane];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    // As attention_limit() has it, without reading again.
    limits[r] = in.causal ? min(first_limit + token_of(r), last_limit) : last_limit;
    limits[r] = min(limits[r], end);
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) q[r][i] = d + i < D ? raw_q[r].at(i) * scale : 0.0F;
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
    Elements<T, kAligned> k[kBatch], v[kBatch];
#pragma unroll
    for (int u = 0; u < kBatch; ++u) {
      // Behind the end the last row again, which is masked below.
      const std::int64_t key = min(base + u * takers + taker, end - 1);
      k[u].load(keys + key * in.k.token_stride, d, D, in.k.element_stride);
      v[u].load(values + key * in.v.token_stride, d, D, in.v.element_stride);
    }
    float scores[kRows][kBatch];
#pragma unroll
    for (int u = 0; u < kBatch; ++u)
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        scores[r][u] = 0;
#pragma unroll
        for (int i = 0; i < kPerLane; ++i) scores[r][u] += q[r][i] * k[u].at(i);
      }
    for (int offset = call.lanes / 2; offset > 0; offset /= 2)
#pragma unroll
      for (int r = 0; r < kRows; ++r)
#pragma unroll
        for (int u = 0; u < kBatch; ++u) scores[r][u] += __shfl_xor_sync(kWholeWarp, scores[r][u], offset);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      float highest = largest[r];
#pragma unroll
      for (int u = 0; u < kBatch; ++u) {
        if (base + u * takers + taker >= limits[r]) scores[r][u] = -INFINITY;
        highest = fmaxf(highest, scores[r][u]);
      }
      const float correction = exp2f(largest[r] - finite(highest));
      largest[r] = highest;
      denominator[r] *= correction;
#pragma unroll
      for (int i = 0; i < kPerLane; ++i) sums[r][i] *= correction;
#pragma unroll
      for (int u = 0; u < kBatch; ++u) {
        scores[r][u] = exp2f(scores[r][u] - finite(highest));
        denominator[r] += scores[r][u];
      }
    }
#pragma unroll
    for (int u = 0; u < kBatch; ++u)
#pragma unroll
      for (int i = 0; i < kPerLane; ++i) {
        const float x = v[u].at(i);
#pragma unroll
        for (int r = 0; r < kRows; ++r) sums[r][i] += scores[r][u] * x;
      }
  }

  // The takers of a warp, then the warps of the block.
  __shared__ float warp_sums[kWarps / 2][kRows][kMostColumns];
  __shared__ float warp_largest[kWarps][kRows], warp_denominator[kWarps][kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    float highest = largest[r];
    for (int offset = call.lanes; offset < kWarp; offset *= 2)
      highest = fmaxf(highest, __shfl_xor_sync(kWholeWarp, highest, offset));
    if (lane == 0) warp_largest[warp][r] = highest;
  }
  __syncthreads();
  // Largest of the block.
  float block_largest[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    block_largest[r] = -INFINITY;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) block_largest[r] = fmaxf(block_largest[r], warp_largest[w][r]);
    const float correction = exp2f(largest[r] - finite(block_largest[r]));
    denominator[r] *= correction;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) sums[r][i] *= correction;
    for (int offset = call.lanes; offset < kWarp; offset *= 2) {
      denominator[r] += __shfl_xor_sync(kWholeWarp, denominator[r], offset);
#pragma unroll
      for (int i = 0; i < kPerLane; ++i) sums[r][i] += __shfl_xor_sync(kWholeWarp, sums[r][i], offset);
    }
    if (lane == 0) warp_denominator[warp][r] = denominator[r];
  }
  // One half of the warps after the other, to save memory.
#pragma unroll
  for (int half = 1; half >= 0; --half) {
    if (warp / (kWarps / 2) == half && lane < call.lanes) {
#pragma unroll
      for (int r = 0; r < kRows; ++r)
#pragma unroll
        for (int i = 0; i < kPerLane; ++i) {
          if (d + i >= D) continue;
          float& sum = warp_sums[warp % (kWarps / 2)][r][d + i];
          sum = half == 1 ? sums[r][i] : sum + sums[r][i];
        }
    }
    __syncthreads();
  }

  const HeadRows& y = call.forward.y;
  const auto store = [&](int r, int column, float sum, float total) {
    if (first_row + r >= call.rows) return;
    const std::int64_t at = row_offset(y, b, token_of(r), head_of(r)) + column * y.element_stride;
    reinterpret_cast<T*>(y.data)[at] = from_float<T>(total > 0 ? sum / total : 0.0F);
  };
  const int block = b * static_cast<int>(gridDim.y) + static_cast<int>(blockIdx.y);
  const int result_row = D + 2;
  float* const head_results = call.results + static_cast<std::int64_t>(block) * parts * kRows * result_row;
  for (int i = thread; i < kRows * D; i += kThreads) {
    const int r = i / D, column = i % D;
    float sum = 0, total = 0, highest = -INFINITY;
#pragma unroll
    for (int w = 0; w < kWarps / 2; ++w) sum += warp_sums[w][r][column];
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      total += warp_denominator[w][r];
      highest = fmaxf(highest, warp_largest[w][r]);
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
    const unsigned before = atomicInc(&call.parts_done[block], static_cast<unsigned>(active) - 1);
    last = before == static_cast<unsigned>(active) - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  for (int i = thread; i < kRows * D; i += kThreads) {
    const int r = i / D, column = i % D;
    float highest = -INFINITY, sum = 0, total = 0;
#pragma unroll 8
    for (int other = 0; other < active; ++other)
      highest = fmaxf(highest, __ldcg(head_results + (other * kRows + r) * result_row + D));
#pragma unroll 8
    for (int other = 0; other < active; ++other) {
      const float* const result = head_results + (other * kRows + r) * result_row;
      const float correction = exp2f(__ldcg(result + D) - finite(highest));
      sum += __ldcg(result + column) * correction;
      total += __ldcg(result + D + 1) * correction;
    }
    store(r, column, sum, total);
  }
}

template <class T, bool kAligned, int kRows>
void launch_kernel(const FewQueriesCall& call, cudaLaunchConfig_t& config) {
  config.blockDim = dim3(kFewThreads<kRows>);
  cudaLaunchKernelEx(&config, few_queries_kernel<T, kAligned, kRows>, call);
}
template <class T, bool kAligned>
void launch_rows(const FewQueriesCall& call, std::int64_t rows, cudaLaunchConfig_t& config) {
  if (rows == 1) return launch_kernel<T, kAligned, 1>(call, config);
  if (rows == 4) return launch_kernel<T, kAligned, 4>(call, config);
  launch_kernel<T, kAligned, 8>(call, config);
}

}  // namespace

bool launch_few_queries(const AttentionForward& forward, float* partial_results, const Device& device,
                        cudaStream_t stream) {
  const AttentionOperands& in = forward.in;
  const AttentionExtents& e = in.extents;
  const DType dtype = in.q.dtype;
  const bool takes = e.T <= FewQueries::kMostTokens && e.D <= kMostHeadWidth && !in.drops() &&
                     forward.statistics == nullptr && in.query_positions == nullptr && in.k.dtype == dtype &&
                     in.v.dtype == dtype && forward.y.dtype == dtype;
  if (!takes) return false;
  const FewQueries cut(e, device.traits());
  FewQueriesCall call{.forward = forward,
                      .parts_done = device.counters(),
                      .results = partial_results,
                      .rows = static_cast<int>(cut.rows),
                      .lanes = 1};
  while (call.lanes * kPerLane < e.D) call.lanes *= 2;
  check(cut.parts == 1 || cut.heads <= Device::kCounters, "few queries have more blocks than counters");
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(cut.parts), static_cast<unsigned>(cut.heads / e.B),
                        static_cast<unsigned>(e.B));
  config.stream = stream;
  config.attrs = &overlap;
  config.numAttrs = device.traits().compute_capability >= 90 ? 1 : 0;
  const bool aligned = e.D % kPerLane == 0 && in.q.aligned(e.D) && in.k.aligned(e.D) && in.v.aligned(e.D);
  with_type(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (aligned)
      launch_rows<T, true>(call, cut.block_rows, config);
    else
      launch_rows<T, false>(call, cut.block_rows, config);
  });
  return true;
}

}  // namespace nadi::inline engines::cuda
