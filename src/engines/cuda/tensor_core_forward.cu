// Attention of bf16 and fp16 on tensor cores (tensor_core_tiles.cuh): a warp has 16 queries of a head, and
// the keys and values that any query of the block sees pass through shared memory, two tiles in turn. The
// softmax is a running one (Dao et al. 2022). Dropout's mask is computed where the probabilities are.
#include <cmath>

#include "nadi/cuda/attention_launch.h"
#include "nadi/cuda/key_tiles.cuh"
#include "nadi/cuda/shared_memory_limit.h"
#include "nadi/cuda/tensor_core_tiles.cuh"

namespace nadi::inline engines::cuda {
namespace {

// Narrow heads leave registers for more queries per block, which share what is read.
template <int kWidth>
constexpr int kForwardWarps = kWidth <= 64 ? 8 : 4;

template <class Element, int kWidth>
__global__ __launch_bounds__(kForwardWarps<kWidth>* kWarp,
                             2) void tensor_core_forward(const AttentionForward forward) {
  using Tile = TensorCoreTile<Element, kWidth>;
  constexpr int kWarps = kForwardWarps<kWidth>, kThreads = kWarps * kWarp, kBlockRows = kWarps * kWarpRows;
  constexpr int kProducts = kTileRows / 8;
  const AttentionOperands& in = forward.in;
  const int T = static_cast<int>(in.extents.T), S = static_cast<int>(in.extents.S);
  const int D = static_cast<int>(in.extents.D), H = static_cast<int>(in.extents.H);
  extern __shared__ uint4 shared_memory[];
  const unsigned tiles_address = shared_address(shared_memory);  // [2][keys, values]

  // The last queries see most keys: they begin first.
  const int blocks = (T + kBlockRows - 1) / kBlockRows;
  const BlockPlace place(blocks, H, static_cast<int>(in.extents.B));
  const int block_first = (blocks - 1 - place.tile) * kBlockRows, head = place.head, b = place.b;
  const int kv_head = head / static_cast<int>(in.group);
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int g = lane / 4, t = lane % 4;
  const int tokens[2] = {block_first + warp * kWarpRows + g, block_first + warp * kWarpRows + g + 8};
  const AttentionRandom random(in);

  int limits[2];
  std::uint64_t numbers[2] = {};  // of the first probability
  RowsInRegisters<Element, kWidth> q;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const bool exists = tokens[half] < T;
    limits[half] = exists ? attention_limit(in, b, tokens[half]) : 0;
    if (in.drops() && exists)
      numbers[half] = static_cast<std::uint64_t>(random.row(b, head, dropout_token(in, tokens[half])));
  }
  q.load(tokens[0] < T ? row_of<Element>(in.q, b, tokens[0], head) : nullptr,
         tokens[1] < T ? row_of<Element>(in.q, b, tokens[1], head) : nullptr, D);
  const int all_see = __reduce_min_sync(kWholeWarp, min(limits[0], limits[1]));

  const Element* const keys = row_of<Element>(in.k, b, 0, kv_head);
  const Element* const values = row_of<Element>(in.v, b, 0, kv_head);
  const KeyTiles tiles(in, b, block_first, min(T, block_first + kBlockRows));
  const auto copy = [&](int tile, int stage) {
    const unsigned at = tiles_address + stage * 2 * Tile::kBytes;
    const int first = tile * kTileRows, count = tiles.keys();
    Tile::template copy<NeighboursInColumns, kThreads>(keys, in.k.token_stride, first, count, D, at);
    Tile::template copy<NeighboursInColumns, kThreads>(values, in.v.token_stride, first, count, D,
                                                       at + Tile::kBytes);
    end_of_copies();
  };

  Fragment sums[kWidth / 8] = {};
  float largest[2] = {-INFINITY, -INFINITY}, denominator[2] = {};
  const float scale = in.scale * kLog2E;
  int tile = tiles.next(0);
  if (tile < tiles.count()) copy(tile, 0);
  for (int stage = 0; tile < tiles.count(); stage ^= 1) {
    const int next = tiles.next(tile + 1);
    wait_for_copies();
    __syncthreads();
    if (next < tiles.count()) copy(next, stage ^ 1);
    const unsigned key_tile = tiles_address + stage * 2 * Tile::kBytes, value_tile = key_tile + Tile::kBytes;
    const int first = tile * kTileRows;

    Fragment scores[kProducts] = {};
#pragma unroll
    for (int k = 0; k < kWidth / 16; ++k)
#pragma unroll
      for (int j = 0; j < kProducts / 2; ++j) {
        unsigned r[4];
        Tile::rows_as_columns(key_tile, j, k, r);
        multiply_add(scores[2 * j], q.a[k], r[0], r[1], Element{});
        multiply_add(scores[2 * j + 1], q.a[k], r[2], r[3], Element{});
      }
    // This thread has keys 16 j + 4 t to 16 j + 4 t + 3.
    if (in.key_positions != nullptr || first + kTileRows > min(all_see, S)) {
#pragma unroll
      for (int j = 0; j < kProducts / 2; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int position = key_position(in, first + 16 * j + 4 * t + i);
#pragma unroll
          for (int half = 0; half < 2; ++half)
            if (position >= limits[half]) scores[2 * j + i / 2][2 * half + i % 2] = -INFINITY;
        }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float highest = largest[half];
#pragma unroll
      for (int n = 0; n < kProducts; ++n)
        highest = fmaxf(highest, fmaxf(scores[n][2 * half], scores[n][2 * half + 1]));
      highest = fmaxf(highest, __shfl_xor_sync(kWholeWarp, highest, 1));
      highest = fmaxf(highest, __shfl_xor_sync(kWholeWarp, highest, 2));
      // Where nothing was seen yet, any finite number serves.
      const float base = highest == -INFINITY ? 0.0F : highest * scale;
      const float correction = power_of_two(largest[half] * scale - base);
      largest[half] = highest;
      denominator[half] *= correction;
#pragma unroll
      for (int n = 0; n < kWidth / 8; ++n) {
        sums[n][2 * half] *= correction;
        sums[n][2 * half + 1] *= correction;
      }
#pragma unroll
      for (int n = 0; n < kProducts; ++n)
#pragma unroll
        for (int e = 2 * half; e < 2 * half + 2; ++e) {
          scores[n][e] = power_of_two(scores[n][e] * scale - base);
          denominator[half] += scores[n][e];
        }
    }
    if (in.drops() && random.in_fours()) {
#pragma unroll
      for (int j = 0; j < kProducts / 2; j += 2) {
        std::uint64_t blocks[4];
        unsigned words[4][4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
          blocks[i] = numbers[i % 2] / 4 + static_cast<unsigned>(first / 4 + 4 * (j + i / 2) + t);
        random.words(blocks, words);
#pragma unroll
        for (int i = 0; i < 16; ++i)
          if (!random.keeps(words[i / 4][i % 4]))
            scores[2 * (j + i / 8) + i % 4 / 2][2 * (i / 4 % 2) + i % 2] = 0;
      }
    } else if (in.drops()) {
#pragma unroll
      for (int j = 0; j < kProducts / 2; ++j)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const unsigned kept =
              kept_one_by_one(in, random, static_cast<std::int64_t>(numbers[half]), first + 16 * j + 4 * t);
#pragma unroll
          for (int i = 0; i < 4; ++i)
            if ((kept >> i & 1U) == 0) scores[2 * j + i / 2][2 * half + i % 2] = 0;
        }
    }
#pragma unroll
    for (int k = 0; k < kTileRows / 16; ++k) {
      unsigned p[4];
      pack<Element>(scores[2 * k], scores[2 * k + 1], p);
#pragma unroll
      for (int j = 0; j < kWidth / 16; ++j) {
        unsigned r[4];
        Tile::rows_as_summands(value_tile, k, j, r);
        multiply_add(sums[2 * j], p, r[0], r[1], Element{});
        multiply_add(sums[2 * j + 1], p, r[2], r[3], Element{});
      }
    }
    tile = next;
  }

#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float total = denominator[half];
    total += __shfl_xor_sync(kWholeWarp, total, 1);
    total += __shfl_xor_sync(kWholeWarp, total, 2);
    if (tokens[half] >= T) continue;
    store_row<Element, kWidth>(row_of<Element>(forward.y, b, tokens[half], head), sums, half, D,
                               total > 0 ? in.dropout.scale / total : 0.0F, false);
    if (forward.statistics != nullptr && t == 0)
      forward.statistics[(static_cast<std::int64_t>(b) * H + head) * T + tokens[half]] =
          largest[half] * in.scale + logf(total);
  }
}

template <class Element, int kWidth>
void launch_width(const AttentionForward& forward, cudaStream_t stream) {
  constexpr int kBytes = 4 * TensorCoreTile<Element, kWidth>::kBytes;
  constexpr int kWarps = kForwardWarps<kWidth>;
  const AttentionExtents& e = forward.in.extents;
  allow_shared_memory(tensor_core_forward<Element, kWidth>, kBytes);
  const unsigned grid = blocks_for(e.T, kWarps * kWarpRows) * static_cast<unsigned>(e.H * e.B);
  tensor_core_forward<Element, kWidth><<<grid, kWarps * kWarp, kBytes, stream>>>(forward);
}

template <class Element>
void launch_type(const AttentionForward& forward, cudaStream_t stream) {
  const std::int64_t D = forward.in.extents.D;
  if (D <= 32) return launch_width<Element, 32>(forward, stream);
  if (D <= 64) return launch_width<Element, 64>(forward, stream);
  launch_width<Element, 128>(forward, stream);
}

}  // namespace

bool launch_tensor_core_forward(const AttentionForward& forward, const DeviceTraits& traits,
                                cudaStream_t stream) {
  if (traits.compute_capability < 80 || !suits_tensor_cores(forward.in) ||
      !suits_tensor_cores(forward.y, forward.in))
    return false;
  if (forward.in.q.dtype == DType::kBF16)
    launch_type<__nv_bfloat16>(forward, stream);
  else
    launch_type<__half>(forward, stream);
  return true;
}

}  // namespace nadi::inline engines::cuda
