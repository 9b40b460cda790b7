// The gradient of attention for any element type, strides and head width, in fp32 arithmetic. Probabilities
// are computed again from the statistics that the forward pass kept (Dao et al. 2022). With f what dropout
// multiplied them by:
//
//   p = exp(scale q k^T - statistics)        dv = (p f)^T dy
//   ds = p (f (dy v^T) - sum of dy * y)      dk = scale ds^T q      dq = scale ds k
//
// Two kernels, so that every sum has one owner and one order: a block of the first has a tile of keys and
// goes through all queries of its group of heads, for dk and dv; a block of the second has a tile of queries
// and goes through the keys, for dq.
#include <cmath>

#include "nadi/cuda/attention_launch.h"
#include "nadi/cuda/attention_tiles.cuh"
#include "nadi/cuda/shared_memory_limit.h"

namespace nadi::inline engines::cuda {
namespace {

// Tiles of both kernels, scores and their gradients, and up to four numbers per row.
template <class Tiles>
constexpr std::int64_t shared_bytes(Tiles) {
  return (4 * Tiles::kTile + 2 * Tiles::kScores + 4 * Tiles::kRows) *
         static_cast<std::int64_t>(sizeof(float));
}

template <class Tiles>
struct GradientMemory {
  __device__ explicit GradientMemory(float4* memory)
      : q(reinterpret_cast<float*>(memory)),
        dy(q + Tiles::kTile),
        k(dy + Tiles::kTile),
        v(k + Tiles::kTile),
        p(v + Tiles::kTile),
        ds(p + Tiles::kScores),
        statistics(ds + Tiles::kScores),
        sums(statistics + Tiles::kRows),
        limits(reinterpret_cast<int*>(sums + Tiles::kRows)),
        positions(limits + Tiles::kRows) {}
  float *q, *dy, *k, *v;
  float* p;  // p f
  float* ds;
  float *statistics, *sums;
  int *limits, *positions;
};

// What a block knows of its queries. Called by all threads; a barrier must follow.
template <class Tiles>
__device__ void load_queries(const AttentionGradient& gradient, const float* sums,
                             const typename Tiles::Rows& rows, const GradientMemory<Tiles>& memory) {
  const AttentionOperands& in = gradient.in;
  Tiles::load(in.q, rows, memory.q);
  Tiles::load(gradient.dy, rows, memory.dy);
  const int thread = static_cast<int>(threadIdx.x), token = rows.first + thread;
  if (thread >= Tiles::kRows) return;
  const std::int64_t number = (rows.b * in.extents.H + rows.head) * in.extents.T + token;
  memory.statistics[thread] = token < rows.count ? gradient.statistics[number] : 0.0F;
  memory.sums[thread] = token < rows.count ? sums[number] : 0.0F;
}

// From the tiles in shared memory to p f and ds there.
template <class Tiles>
__device__ void gradient_of_scores(const AttentionOperands& in, const AttentionRandom& random,
                                   const typename Tiles::Rows& queries, const GradientMemory<Tiles>& memory) {
  constexpr int kEach = Tiles::kEach;
  typename Tiles::Scores p, ds;
  Tiles::multiply(memory.q, memory.k, p);
  Tiles::multiply(memory.dy, memory.v, ds);
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int row = Tiles::ty() + Tiles::kSide * i;
    float factors[kEach];
#pragma unroll
    for (int j = 0; j < kEach; ++j) factors[j] = 1;
    if (in.drops() && queries.first + row < queries.count)
      Tiles::dropout_factors(random,
                             random.row(queries.b, queries.head, dropout_token(in, queries.first + row)),
                             memory.positions, factors);
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const bool seen = memory.positions[Tiles::tx() * kEach + j] < memory.limits[row];
      const float probability = seen ? expf(p[i][j] * in.scale - memory.statistics[row]) : 0.0F;
      p[i][j] = probability * factors[j];
      ds[i][j] = probability * (factors[j] * ds[i][j] - memory.sums[row]);
    }
  }
  Tiles::store_scores(p, memory.p);
  Tiles::store_scores(ds, memory.ds);
}

template <class Tiles>
__global__ __launch_bounds__(Tiles::kThreads) void attention_keys_gradient(const AttentionGradient gradient,
                                                                           const float* sums) {
  constexpr int kRows = Tiles::kRows, kEach = Tiles::kEach;
  const AttentionOperands& in = gradient.in;
  const int T = static_cast<int>(in.extents.T), S = static_cast<int>(in.extents.S);
  const int D = static_cast<int>(in.extents.D), group = static_cast<int>(in.group);
  extern __shared__ float4 shared_memory[];
  const GradientMemory<Tiles> memory(shared_memory);
  const int first = static_cast<int>(blockIdx.x) * kRows;
  const int kv_head = static_cast<int>(blockIdx.y), b = static_cast<int>(blockIdx.z);
  const int thread = static_cast<int>(threadIdx.x);
  const AttentionRandom random(in);

  const typename Tiles::Rows keys{
      .b = b, .head = kv_head, .first = first, .count = S, .width = D, .keys = true};
  Tiles::load(in.k, keys, memory.k);
  Tiles::load(in.v, keys, memory.v);
  if (thread < kRows) memory.positions[thread] = key_position(in, first + thread);
  __syncthreads();
  int lowest = INT_MAX;
  for (int i = 0; i < kRows; ++i) lowest = min(lowest, memory.positions[i]);

  typename Tiles::Sums dk, dv;
  Tiles::clear(dk);
  Tiles::clear(dv);
  for (int head = kv_head * group; head < (kv_head + 1) * group; ++head)
    for (int token = 0; token < T; token += kRows) {
      __syncthreads();
      if (thread < kRows)
        memory.limits[thread] = token + thread < T ? attention_limit(in, b, token + thread) : 0;
      if (!__syncthreads_or(thread < kRows && memory.limits[thread] > lowest)) continue;
      const typename Tiles::Rows queries{
          .b = b, .head = head, .first = token, .count = T, .width = D, .keys = false};
      load_queries(gradient, sums, queries, memory);
      __syncthreads();
      gradient_of_scores(in, random, queries, memory);
      __syncthreads();
      Tiles::add_over_queries(memory.p, memory.dy, dv);
      Tiles::add_over_queries(memory.ds, memory.q, dk);
    }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int token = first + Tiles::key_of_row(Tiles::ty() * kEach + i);
    if (token >= S) continue;
    Tiles::store(gradient.dk, {.b = b, .token = token, .head = kv_head, .width = D, .add = gradient.add_dk},
                 dk[i], in.scale);
    Tiles::store(gradient.dv, {.b = b, .token = token, .head = kv_head, .width = D, .add = gradient.add_dv},
                 dv[i], 1);
  }
}

template <class Tiles>
__global__ __launch_bounds__(Tiles::kThreads) void attention_queries_gradient(
    const AttentionGradient gradient, const float* sums) {
  constexpr int kRows = Tiles::kRows;
  const AttentionOperands& in = gradient.in;
  const int T = static_cast<int>(in.extents.T), S = static_cast<int>(in.extents.S);
  const int D = static_cast<int>(in.extents.D);
  extern __shared__ float4 shared_memory[];
  const GradientMemory<Tiles> memory(shared_memory);
  const int first = static_cast<int>(gridDim.x - 1 - blockIdx.x) * kRows;
  const int head = static_cast<int>(blockIdx.y), b = static_cast<int>(blockIdx.z);
  const int kv_head = head / static_cast<int>(in.group), thread = static_cast<int>(threadIdx.x);
  const AttentionRandom random(in);

  const typename Tiles::Rows queries{
      .b = b, .head = head, .first = first, .count = T, .width = D, .keys = false};
  load_queries(gradient, sums, queries, memory);
  if (thread < kRows) memory.limits[thread] = first + thread < T ? attention_limit(in, b, first + thread) : 0;
  __syncthreads();
  int most = 0;
  for (int i = 0; i < kRows; ++i) most = max(most, memory.limits[i]);

  typename Tiles::Sums dq;
  Tiles::clear(dq);
  for (int key = 0; key < S; key += kRows) {
    if (in.key_positions == nullptr && key >= most) break;
    __syncthreads();
    if (thread < kRows) memory.positions[thread] = key_position(in, key + thread);
    if (!__syncthreads_or(thread < kRows && memory.positions[thread] < most)) continue;
    const typename Tiles::Rows keys{
        .b = b, .head = kv_head, .first = key, .count = S, .width = D, .keys = true};
    Tiles::load(in.k, keys, memory.k);
    Tiles::load(in.v, keys, memory.v);
    __syncthreads();
    gradient_of_scores(in, random, queries, memory);
    __syncthreads();
    Tiles::add_over_keys(memory.ds, memory.k, dq);
  }
#pragma unroll
  for (int i = 0; i < Tiles::kEach; ++i) {
    const int token = first + Tiles::ty() + Tiles::kSide * i;
    if (token >= T) continue;
    Tiles::store(gradient.dq, {.b = b, .token = token, .head = head, .width = D, .add = gradient.add_dq},
                 dq[i], in.scale);
  }
}

constexpr int kSumsThreads = 256;
constexpr int kAtOnce = 8;  // elements of a lane

// `lanes` lanes of a warp per query, a power of two. Neighbours have neighbouring heads of a token, which are
// neighbours in memory.
template <class T, bool kAligned>
__global__ __launch_bounds__(kSumsThreads) void gradient_sums(const AttentionGradient gradient, int lanes,
                                                              float* sums) {
  const AttentionExtents& e = gradient.in.extents;
  const int D = static_cast<int>(e.D), lane = static_cast<int>(threadIdx.x) % lanes;
  const std::int64_t row =
      (static_cast<std::int64_t>(blockIdx.x) * kSumsThreads + static_cast<int>(threadIdx.x)) / lanes;
  const bool exists = row < e.B * e.H * e.T;
  const int head = static_cast<int>(row % e.H), token = static_cast<int>(row / e.H % e.T);
  const int b = static_cast<int>(row / e.H / e.T), d = lane * kAtOnce;
  float sum = 0;
  if (exists && d < D) {
    const HeadRows &y = gradient.y, &dy = gradient.dy;
    const std::int64_t y_row = row_offset(y, b, token, head), dy_row = row_offset(dy, b, token, head);
    if constexpr (kAligned) {
      constexpr int kPerLoad = 16 / static_cast<int>(sizeof(T));
#pragma unroll
      for (int i = 0; i < kAtOnce; i += kPerLoad) {
        const auto left = load_vector<T, kPerLoad>(reinterpret_cast<const T*>(y.data) + y_row + d + i);
        const auto right = load_vector<T, kPerLoad>(reinterpret_cast<const T*>(dy.data) + dy_row + d + i);
#pragma unroll
        for (int j = 0; j < kPerLoad; ++j) sum += left.at(j) * right.at(j);
      }
    } else {
      for (int i = d; i < min(D, d + kAtOnce); ++i)
        sum += load_as_float(y.data, y.dtype, y_row + i * y.element_stride) *
               load_as_float(dy.data, dy.dtype, dy_row + i * dy.element_stride);
    }
  }
  for (int offset = lanes / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(kWholeWarp, sum, offset);
  if (exists && lane == 0) sums[(b * e.H + head) * e.T + token] = sum;
}

}  // namespace

void launch_gradient_sums(const AttentionGradient& gradient, float* sums, cudaStream_t stream) {
  const AttentionExtents& e = gradient.in.extents;
  check(e.D <= kMostHeadWidth, "a head is wider than the attention kernels take");
  int lanes = 1;
  while (lanes * kAtOnce < e.D) lanes *= 2;
  const unsigned blocks = blocks_for(e.B * e.H * e.T, kSumsThreads / lanes);
  const HeadRows &y = gradient.y, &dy = gradient.dy;
  if (y.dtype != dy.dtype || e.D % kAtOnce != 0 || !y.aligned(e.D) || !dy.aligned(e.D))
    return gradient_sums<float, false><<<blocks, kSumsThreads, 0, stream>>>(gradient, lanes, sums);
  with_type(y.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    gradient_sums<T, true><<<blocks, kSumsThreads, 0, stream>>>(gradient, lanes, sums);
  });
}

void launch_attention_gradient(const AttentionGradient& gradient, const float* sums,
                               const DeviceTraits& traits, cudaStream_t stream) {
  const AttentionExtents& e = gradient.in.extents;
  check(e.D <= kMostHeadWidth, "a head is wider than the attention kernels take");
  with_attention_tiles(
      e.D, traits.shared_memory_per_block, [](auto tiles) { return shared_bytes(tiles); },
      [&](auto tiles) {
        using Tiles = decltype(tiles);
        constexpr int kBytes = static_cast<int>(shared_bytes(Tiles{}));
        const auto launch = [&](auto kernel, std::int64_t tokens, std::int64_t heads) {
          allow_shared_memory(kernel, kBytes);
          const dim3 grid(blocks_for(tokens, Tiles::kRows), static_cast<unsigned>(heads),
                          static_cast<unsigned>(e.B));
          kernel<<<grid, Tiles::kThreads, kBytes, stream>>>(gradient, sums);
        };
        launch(attention_keys_gradient<Tiles>, e.S, e.K);
        launch(attention_queries_gradient<Tiles>, e.T, e.H);
      });
}

}  // namespace nadi::inline engines::cuda
