// Attention of few queries with a short cache of keys and values. There is little to read, and what takes the
// time is whatever one thing waits for after the other. So the keys of a head are spread over the blocks of a
// cluster, which hand their sums to each other without passing through memory: each warp sends columns of its
// sums to the block that adds up these columns. The cache is in L2 by then: the kernel that writes to it has
// asked for it (decode_rows.cuh).
#include <cooperative_groups.h>

#include <algorithm>
#include <cmath>

#include "nadi/cuda/attention_device.cuh"
#include "nadi/cuda/attention_launch.h"
#include "nadi/cuda/packed.cuh"

namespace nadi::inline engines::cuda {
namespace {

constexpr int kShortThreads = 128, kShortWarps = kShortThreads / kWarp;
constexpr int kShortBatch = 4;  // keys of a lane whose loads are under way at once
constexpr int kColumnsOfLane = 8;
constexpr int kMostBlocks = 8;  // of a cluster
constexpr int kMostShortRows = 4;
// With more keys than these, there is enough to read for kernels that use the whole device.
constexpr std::int64_t kMostShortKeys = 2048;

struct ShortCacheCall {
  AttentionForward forward;
  // Whether to go over the keys once in vain while kernels before are at work. That pays where these leave
  // room on the device, which products do not. The loop stays: without it the compiler orders the kernel such
  // that it takes 2 us more (measured on an H200).
  bool rehearse;
  int rows;  // of a key-value head: a query of one of its heads each
};

// Loads that stay where they are written, before all that waits for them.
template <class T>
__device__ inline void load_now(const T* from, Packed<T>& into) {
  std::uint32_t(&words)[4] = into.words;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "l"(from));
}
__device__ inline int load_now(const std::int32_t* from, int b, int otherwise) {
  if (from == nullptr) return otherwise;
  int value;
  asm volatile("ld.global.cg.s32 %0, [%1];" : "=r"(value) : "l"(from + b));
  return value;
}

template <class T>
struct EightElements {
  static constexpr int kAtOnce = Packed<T>::kElements;
  Packed<T> some[kColumnsOfLane / kAtOnce];

  __device__ void load(const T* from) {
#pragma unroll
    for (int i = 0; i < kColumnsOfLane; i += kAtOnce) load_now(from + i, some[i / kAtOnce]);
  }
  // Zeros, unless `present`.
  __device__ void keep_if(bool present) {
#pragma unroll
    for (int i = 0; i < kColumnsOfLane; i += kAtOnce)
#pragma unroll
      for (std::uint32_t& word : some[i / kAtOnce].words) word = present ? word : 0U;
  }
  __device__ float at(int i) const {
    return some[i / kAtOnce].at(i % kAtOnce);
  }
};

// Where nothing was seen yet, any finite number serves as the maximum.
__device__ inline float finite_maximum(float x) {
  return x == -INFINITY ? 0.0F : x;
}

// Blocks (x) are those of a cluster. kLanes lanes have the columns of a row.
template <class T, int kRows, int kLanes>
__global__ void __launch_bounds__(kShortThreads, kRows == 1 ? 4 : 3)
    short_cache_kernel(const __grid_constant__ ShortCacheCall call) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  namespace groups = cooperative_groups;
  const groups::cluster_group cluster = groups::this_cluster();
  // The columns of this block, from every warp of the cluster: [warp][row][column].
  __shared__ __align__(16) float warp_sums[kShortWarps * kRows * kLanes * kColumnsOfLane];
  __shared__ float warp_largest[kRows][kWarp], warp_denominator[kRows][kWarp], factors[kRows][kWarp];

  const AttentionOperands& in = call.forward.in;
  const int D = static_cast<int>(in.extents.D), S = static_cast<int>(in.extents.S);
  const int K = static_cast<int>(in.extents.K), group = static_cast<int>(in.group);
  const int block = static_cast<int>(blockIdx.x), blocks = static_cast<int>(gridDim.x);
  const int kv_head = static_cast<int>(blockIdx.y) % K, first_row = static_cast<int>(blockIdx.y) / K * kRows;
  const int b = static_cast<int>(blockIdx.z), thread = static_cast<int>(threadIdx.x);
  const int lane = thread % kWarp, warp = thread / kWarp;
  const int d = lane % kLanes * kColumnsOfLane, from = min(d, D - kColumnsOfLane);
  const int taker = block * (kShortThreads / kLanes) + thread / kLanes;
  const int takers = blocks * (kShortThreads / kLanes);
  const auto token_of = [&](int r) { return min(first_row + r, call.rows - 1) / group; };
  const auto head_of = [&](int r) { return kv_head * group + min(first_row + r, call.rows - 1) % group; };
  const T* const keys = reinterpret_cast<const T*>(in.k.data) + row_offset(in.k, b, 0, kv_head) + from;
  const T* const values = reinterpret_cast<const T*>(in.v.data) + row_offset(in.v, b, 0, kv_head) + from;
  const T* const queries = reinterpret_cast<const T*>(in.q.data) + from;
  const float scale = in.scale * 1.44269504F;  // powers of two are what the hardware has

  let_next_begin();
  cluster.sync();  // all blocks are there to be sent to
#pragma unroll 1
  for (int pass = call.rehearse ? 0 : 1; pass < 2; ++pass) {
    if (pass == 1) wait_for_kernels_before();
    EightElements<T> raw_q[kRows], k[kShortBatch], v[kShortBatch];
    // Nobody waits for the number of keys before the first ones are under way: rows behind the last key are
    // read, and not looked at.
    const auto load = [&](int base) {
#pragma unroll
      for (int u = 0; u < kShortBatch; ++u) {
        const std::int64_t key = min(base + u * takers + taker, S - 1);
        k[u].load(keys + key * in.k.token_stride);
        v[u].load(values + key * in.v.token_stride);
      }
    };
#pragma unroll
    for (int r = 0; r < kRows; ++r) raw_q[r].load(queries + row_offset(in.q, b, token_of(r), head_of(r)));
    const int position = load_now(in.positions, b, 0);
    const int length = load_now(in.lengths, b, S);
    load(0);

    float q[kRows][kColumnsOfLane];
    float largest[kRows], denominator[kRows], sums[kRows][kColumnsOfLane];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      largest[r] = -INFINITY;
      denominator[r] = 0;
#pragma unroll
      for (int i = 0; i < kColumnsOfLane; ++i) {
        q[r][i] = d + i < D ? raw_q[r].at(i) * scale : 0.0F;
        sums[r][i] = 0;
      }
    }
    // As attention_limit() has it.
    const auto limit_of = [&](int r) {
      return min(in.causal ? 1 + position + token_of(r) : INT_MAX, min(length, S));
    };
    const int most = limit_of(kRows - 1);
#pragma unroll 1
    for (int base = 0; base < most; base += takers * kShortBatch) {
      if (base > 0) load(base);
      float scores[kRows][kShortBatch];
#pragma unroll
      for (int u = 0; u < kShortBatch; ++u)
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          scores[r][u] = 0;
#pragma unroll
          for (int i = 0; i < kColumnsOfLane; ++i) scores[r][u] += q[r][i] * k[u].at(i);
        }
#pragma unroll
      for (int offset = kLanes / 2; offset > 0; offset /= 2)
#pragma unroll
        for (int r = 0; r < kRows; ++r)
#pragma unroll
          for (int u = 0; u < kShortBatch; ++u)
            scores[r][u] += __shfl_xor_sync(kWholeWarp, scores[r][u], offset);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        float highest = largest[r];
#pragma unroll
        for (int u = 0; u < kShortBatch; ++u) {
          if (base + u * takers + taker >= limit_of(r)) scores[r][u] = -INFINITY;
          highest = fmaxf(highest, scores[r][u]);
        }
        const float correction = exp2f(largest[r] - finite_maximum(highest));
        largest[r] = highest;
        denominator[r] *= correction;
#pragma unroll
        for (int i = 0; i < kColumnsOfLane; ++i) sums[r][i] *= correction;
#pragma unroll
        for (int u = 0; u < kShortBatch; ++u) {
          scores[r][u] = exp2f(scores[r][u] - finite_maximum(highest));
          denominator[r] += scores[r][u];
        }
      }
#pragma unroll
      for (int u = 0; u < kShortBatch; ++u) {
        v[u].keep_if(base + u * takers + taker < most);
#pragma unroll
        for (int i = 0; i < kColumnsOfLane; ++i) {
          const float x = v[u].at(i);
#pragma unroll
          for (int r = 0; r < kRows; ++r) sums[r][i] += scores[r][u] * x;
        }
      }
    }

    // The takers of a warp; then its sums go to the blocks that have the columns.
    const int columns = kLanes * kColumnsOfLane / blocks, sender = block * kShortWarps + warp;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      float highest = largest[r];
#pragma unroll
      for (int offset = kLanes; offset < kWarp; offset *= 2)
        highest = fmaxf(highest, __shfl_xor_sync(kWholeWarp, highest, offset));
      const float correction = exp2f(largest[r] - finite_maximum(highest));
      denominator[r] *= correction;
#pragma unroll
      for (int offset = kLanes; offset < kWarp; offset *= 2)
        denominator[r] += __shfl_xor_sync(kWholeWarp, denominator[r], offset);
      if (lane < blocks) {
        *cluster.map_shared_rank(&warp_largest[r][sender], static_cast<unsigned>(lane)) = highest;
        *cluster.map_shared_rank(&warp_denominator[r][sender], static_cast<unsigned>(lane)) = denominator[r];
      }
#pragma unroll
      for (int i = 0; i < kColumnsOfLane; ++i) {
        sums[r][i] *= correction;
#pragma unroll
        for (int offset = kLanes; offset < kWarp; offset *= 2)
          sums[r][i] += __shfl_xor_sync(kWholeWarp, sums[r][i], offset);
      }
      if (lane < kLanes) {
        float* const mine = warp_sums + (sender * kRows + r) * columns + d % columns;
        auto* const to =
            reinterpret_cast<float4*>(cluster.map_shared_rank(mine, static_cast<unsigned>(d / columns)));
        to[0] = make_float4(sums[r][0], sums[r][1], sums[r][2], sums[r][3]);
        to[1] = make_float4(sums[r][4], sums[r][5], sums[r][6], sums[r][7]);
      }
    }
    if (pass == 1)
      cluster.sync();
    else
      __syncthreads();

    const int senders = blocks * kShortWarps;
    if (warp < kRows) {
      const float highest = lane < senders ? warp_largest[warp][lane] : -INFINITY;
      const float weight = exp2f(highest - finite_maximum(warp_max(highest)));
      const float total = warp_sum(lane < senders ? weight * warp_denominator[warp][lane] : 0.0F);
      factors[warp][lane] = total > 0 ? weight / total : 0.0F;
    }
    __syncthreads();
    const HeadRows& y = call.forward.y;
    for (int i = thread; i < kRows * columns; i += kShortThreads) {
      const int r = i / columns, column = i % columns;
      float sum = 0;
#pragma unroll 4
      for (int other = 0; other < senders; ++other)
        sum += factors[r][other] * warp_sums[(other * kRows + r) * columns + column];
      if (pass == 0 || first_row + r >= call.rows || block * columns + column >= D) continue;
      const std::int64_t at =
          row_offset(y, b, token_of(r), head_of(r)) + (block * columns + column) * y.element_stride;
      reinterpret_cast<T*>(y.data)[at] = from_float<T>(sum);
    }
  }
#endif
}

template <class T, int kRows>
void launch_kernel(const ShortCacheCall& call, const cudaLaunchConfig_t& config) {
  if (call.forward.in.extents.D <= 64)
    cudaLaunchKernelEx(&config, short_cache_kernel<T, kRows, 8>, call);
  else
    cudaLaunchKernelEx(&config, short_cache_kernel<T, kRows, 16>, call);
}

}  // namespace

bool launch_short_cache(const AttentionForward& forward, const Device& device, cudaStream_t stream) {
  const AttentionOperands& in = forward.in;
  const AttentionExtents& e = in.extents;
  const DType dtype = in.q.dtype;
  const std::int64_t rows = e.T * (e.H / e.K);
  const bool takes = device.traits().compute_capability >= 90 && e.S >= 1 && e.S <= kMostShortKeys &&
                     rows <= 2 * kMostShortRows && e.D % kColumnsOfLane == 0 && e.D <= 128 && !in.drops() &&
                     forward.statistics == nullptr && in.query_positions == nullptr &&
                     in.key_positions == nullptr && in.k.dtype == dtype && in.v.dtype == dtype &&
                     forward.y.dtype == dtype && in.q.aligned(e.D) && in.k.aligned(e.D) && in.v.aligned(e.D);
  if (!takes) return false;
  const std::int64_t block_rows = rows == 1 ? 1 : kMostShortRows;
  const std::int64_t heads = e.K * ((rows + block_rows - 1) / block_rows);
  // As many blocks as have all keys under way at once, if the device has room for them.
  const std::int64_t keys_of_block = kShortThreads / (e.D <= 64 ? 8 : 16) * kShortBatch;
  int blocks = 1;
  while (blocks < kMostBlocks && blocks * keys_of_block < e.S &&
         2 * blocks * heads * e.B <= 2 * device.traits().multiprocessors)
    blocks *= 2;

  const ShortCacheCall call{.forward = forward, .rehearse = false, .rows = static_cast<int>(rows)};
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {static_cast<unsigned>(blocks), 1, 1};
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim =
      dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(heads), static_cast<unsigned>(e.B));
  config.blockDim = dim3(kShortThreads);
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = 2;
  with_type(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (block_rows == 1)
      launch_kernel<T, 1>(call, config);
    else
      launch_kernel<T, kMostShortRows>(call, config);
  });
  return true;
}

}  // namespace nadi::inline engines::cuda
