// Attention of any element type, strides and head width in fp32 arithmetic. A block has a tile of queries of
// one head and goes through the tiles of keys that any of them sees, with the running maximum and denominator
// of each query's softmax (Dao et al. 2022).
#include <cmath>

#include "nadi/cuda/attention_launch.h"
#include "nadi/cuda/attention_tiles.cuh"
#include "nadi/cuda/shared_memory_limit.h"

namespace nadi::inline engines::cuda {
namespace {

template <class Tiles>
constexpr std::int64_t shared_bytes(Tiles) {
  return (3 * Tiles::kTile + Tiles::kScores + 2 * Tiles::kRows) * static_cast<std::int64_t>(sizeof(float));
}

template <class Tiles>
__global__ __launch_bounds__(Tiles::kThreads) void attention_forward_kernel(const AttentionForward forward) {
  constexpr int kRows = Tiles::kRows, kEach = Tiles::kEach, kSide = Tiles::kSide;
  const AttentionOperands& in = forward.in;
  const int T = static_cast<int>(in.extents.T), S = static_cast<int>(in.extents.S);
  const int D = static_cast<int>(in.extents.D);
  extern __shared__ float4 shared_memory[];
  float* const q = reinterpret_cast<float*>(shared_memory);
  float* const k = q + Tiles::kTile;
  float* const v = k + Tiles::kTile;
  float* const p = v + Tiles::kTile;
  int* const limits = reinterpret_cast<int*>(p + Tiles::kScores);
  int* const positions = limits + kRows;

  // The last queries see most keys: they begin first.
  const int first = static_cast<int>(gridDim.x - 1 - blockIdx.x) * kRows;
  const int head = static_cast<int>(blockIdx.y), b = static_cast<int>(blockIdx.z);
  const int kv_head = head / static_cast<int>(in.group);
  const int tx = Tiles::tx(), ty = Tiles::ty(), thread = static_cast<int>(threadIdx.x);
  const AttentionRandom random(in);

  if (thread < kRows) limits[thread] = first + thread < T ? attention_limit(in, b, first + thread) : 0;
  Tiles::load(in.q, {.b = b, .head = head, .first = first, .count = T, .width = D, .keys = false}, q);
  __syncthreads();
  int most = 0;
  for (int i = 0; i < kRows; ++i) most = max(most, limits[i]);

  typename Tiles::Sums sums;
  Tiles::clear(sums);
  float largest[kEach], denominator[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    largest[i] = -INFINITY;
    denominator[i] = 0;
  }
  for (int key = 0; key < S; key += kRows) {
    if (in.key_positions == nullptr && key >= most) break;
    if (thread < kRows) positions[thread] = key_position(in, key + thread);
    if (!__syncthreads_or(thread < kRows && positions[thread] < most)) continue;
    // What is behind the keys that are seen, in a cache, need not be numbers.
    const int count = in.key_positions == nullptr ? min(S, most) : S;
    const typename Tiles::Rows rows{
        .b = b, .head = kv_head, .first = key, .count = count, .width = D, .keys = true};
    Tiles::load(in.k, rows, k);
    Tiles::load(in.v, rows, v);
    __syncthreads();
    typename Tiles::Scores scores;
    Tiles::multiply(q, k, scores);
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int row = ty + kSide * i;
      float highest = largest[i];
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        scores[i][j] = positions[tx * kEach + j] < limits[row] ? scores[i][j] * in.scale : -INFINITY;
        highest = fmaxf(highest, scores[i][j]);
      }
      highest = Tiles::row_max(highest);
      // Where nothing was seen yet, any finite number serves.
      const float base = highest == -INFINITY ? 0.0F : highest;
      const float correction = expf(largest[i] - base);
      float sum = 0;
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        scores[i][j] = expf(scores[i][j] - base);
        sum += scores[i][j];
      }
      denominator[i] = denominator[i] * correction + Tiles::row_sum(sum);
      largest[i] = highest;
#pragma unroll
      for (int c = 0; c < Tiles::kColumns; ++c) sums[i][c] *= correction;
      if (in.drops() && first + row < T) {
        float factors[kEach];
        Tiles::dropout_factors(random, random.row(b, head, dropout_token(in, first + row)), positions,
                               factors);
#pragma unroll
        for (int j = 0; j < kEach; ++j) scores[i][j] *= factors[j];
      }
    }
    Tiles::store_scores(scores, p);
    __syncthreads();
    Tiles::add_over_keys(p, v, sums);
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int token = first + ty + kSide * i;
    if (token >= T) continue;
    Tiles::store(forward.y, {.b = b, .token = token, .head = head, .width = D, .add = false}, sums[i],
                 denominator[i] > 0 ? 1 / denominator[i] : 0.0F);
    if (forward.statistics != nullptr && tx == 0)
      forward.statistics[(b * in.extents.H + head) * T + token] = largest[i] + logf(denominator[i]);
  }
}

}  // namespace

void launch_attention_forward(const AttentionForward& forward, const DeviceTraits& traits,
                              cudaStream_t stream) {
  const AttentionExtents& e = forward.in.extents;
  check(e.D <= kMostHeadWidth, "a head is wider than the attention kernels take");
  with_attention_tiles(
      e.D, traits.shared_memory_per_block, [](auto tiles) { return shared_bytes(tiles); },
      [&](auto tiles) {
        using Tiles = decltype(tiles);
        const auto kernel = attention_forward_kernel<Tiles>;
        constexpr int kBytes = static_cast<int>(shared_bytes(Tiles{}));
        allow_shared_memory(kernel, kBytes);
        const dim3 grid(blocks_for(e.T, Tiles::kRows), static_cast<unsigned>(e.H),
                        static_cast<unsigned>(e.B));
        kernel<<<grid, Tiles::kThreads, kBytes, stream>>>(forward);
      });
}

}  // namespace nadi::inline engines::cuda
