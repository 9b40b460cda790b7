// The gradient of attention of bf16 and fp16 on tensor cores (tensor_core_tiles.cuh); attention_gradient.cu
// has the formulas. Two kernels, so that every sum has one owner and one order. In the first a warp has 16
// keys, and the queries of all heads of its group that see any key of the block pass by: its products are
// transposed, keys as rows. In the second a warp has 16 queries, and the keys pass by.
#include <cmath>

#include "nadi/cuda/attention_launch.h"
#include "nadi/cuda/attention_scratch.h"
#include "nadi/cuda/key_tiles.cuh"
#include "nadi/cuda/shared_memory_limit.h"
#include "nadi/cuda/tensor_core_tiles.cuh"

namespace nadi::inline engines::cuda {
namespace {

constexpr int kGradientWarps = 4;
constexpr int kGradientThreads = kGradientWarps * kWarp;
constexpr int kBlockRows = kGradientWarps * kWarpRows;
// Scores are computed for so many passing rows at a time, to save registers.
constexpr int kPassing = 32;
constexpr int kProducts = kPassing / 8;
static_assert(kBlockRows == kTileRows && kPassing == KeptBits::kQueries && kWarpRows == KeptBits::kKeys);

// Blocks per multiprocessor to leave registers for.
template <int kWidth>
constexpr int kBlocks = kWidth <= 64 ? 3 : 2;

// The tiles of queries that see any key of a block.
class QueryTiles {
 public:
  __device__ QueryTiles(const AttentionOperands& in, int b, int lowest)
      : in_(in),
        b_(b),
        lowest_(lowest),
        T_(static_cast<int>(in.extents.T)),
        tiles_((T_ + kTileRows - 1) / kTileRows),
        end_(tiles_ * static_cast<int>(in.group)) {}
  // Tile number i % tiles of head i / tiles of the group: the first from i on. Of whole warps.
  __device__ int next(int i) const {
    for (; i < end_; ++i) {
      const int first = i % tiles_ * kTileRows;
      if (in_.query_positions == nullptr) {
        // Later queries see more.
        if (attention_limit(in_, b_, min(T_, first + kTileRows) - 1) > lowest_) break;
        continue;
      }
      const int token = first + static_cast<int>(threadIdx.x) % kWarp;
      const int limit = token < T_ ? attention_limit(in_, b_, token) : 0;
      const int other = token + kWarp < T_ ? attention_limit(in_, b_, token + kWarp) : 0;
      if (__any_sync(kWholeWarp, max(limit, other) > lowest_)) break;
    }
    return i;
  }
  __device__ int end() const { return end_; }
  __device__ int head(int i) const { return i / tiles_; }
  __device__ int first(int i) const { return i % tiles_ * kTileRows; }

 private:
  const AttentionOperands& in_;
  int b_, lowest_, T_, tiles_, end_;
};

// Where the first kernel keeps its bits, and this thread's of them.
struct KeptPlace {
  int b, head, query, key;
};
__device__ std::int64_t kept_place(const AttentionOperands& in, const KeptPlace& at) {
  constexpr int kQueries = static_cast<int>(KeptBits::kQueries), kKeys = static_cast<int>(KeptBits::kKeys);
  const AttentionExtents& e = in.extents;
  const std::int64_t queries = (e.T + kQueries - 1) / kQueries, keys = (e.S + kKeys - 1) / kKeys;
  const std::int64_t warp = ((at.b * e.H + at.head) * queries + at.query / kQueries) * keys + at.key / kKeys;
  return warp * KeptBits::kThreads + static_cast<int>(threadIdx.x) % kWarp;
}

// Keys and values of a block: wide heads leave no registers for them.
template <class Element, int kWidth>
struct StayingRows {
  using Tile = TensorCoreTile<Element, kWidth>;
  static constexpr bool kInRegisters = kWidth <= 64;
  static constexpr int kBytes = kInRegisters ? 0 : Tile::kBytes;

  // Keys 2 g and 2 g + 1 of the warp's 16, as rows g and g + 8. A wait for copies and a barrier must follow.
  __device__ void load(const HeadRows& from, const AttentionOperands& in, int b, int kv_head, int block_first,
                       unsigned tile) {
    const int D = static_cast<int>(in.extents.D), S = static_cast<int>(in.extents.S);
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    warp_ = static_cast<int>(threadIdx.x) / kWarp;
    tile_ = tile;
    if constexpr (kInRegisters) {
      const int key = block_first + warp_ * kWarpRows + 2 * (lane / 4);
      rows_.load(key < S ? row_of<Element>(from, b, key, kv_head) : nullptr,
                 key + 1 < S ? row_of<Element>(from, b, key + 1, kv_head) : nullptr, D);
    } else {
      Tile::template copy<NeighboursInRows, kGradientThreads>(row_of<Element>(from, b, 0, kv_head),
                                                              from.token_stride, block_first, S, D, tile);
    }
  }
  __device__ void left_operand(int k, unsigned (&a)[4]) const {
    if constexpr (kInRegisters) {
#pragma unroll
      for (int i = 0; i < 4; ++i) a[i] = rows_.a[k][i];
    } else {
      Tile::left_operand(tile_, warp_, k, a);
    }
  }

 private:
  RowsInRegisters<Element, kInRegisters ? kWidth : 16> rows_;
  unsigned tile_;
  int warp_;
};

// Per query of a passing tile.
struct QueryNumbers {
  float statistics[kTileRows];
  float sums[kTileRows];
  int limits[kTileRows];
};

template <class Element, int kWidth>
constexpr int keys_gradient_bytes() {
  using Tile = TensorCoreTile<Element, kWidth>;
  return 4 * Tile::kBytes + 2 * StayingRows<Element, kWidth>::kBytes +
         2 * static_cast<int>(sizeof(QueryNumbers));
}

template <class Element, int kWidth>
__global__ __launch_bounds__(kGradientThreads, kBlocks<kWidth>) void tensor_core_keys_gradient(
    const AttentionGradient gradient, const TensorCoreScratch scratch) {
  using Tile = TensorCoreTile<Element, kWidth>;
  using Staying = StayingRows<Element, kWidth>;
  const AttentionOperands& in = gradient.in;
  const int T = static_cast<int>(in.extents.T), S = static_cast<int>(in.extents.S);
  const int D = static_cast<int>(in.extents.D), H = static_cast<int>(in.extents.H);
  extern __shared__ uint4 shared_memory[];
  const unsigned tiles_address = shared_address(shared_memory);  // [2][queries, dy], keys, values
  auto* const numbers = reinterpret_cast<QueryNumbers*>(reinterpret_cast<char*>(shared_memory) +
                                                        4 * Tile::kBytes + 2 * Staying::kBytes);  // [2]

  // The first keys are seen by most queries: they begin first.
  const BlockPlace place((S + kBlockRows - 1) / kBlockRows, static_cast<int>(in.extents.K),
                         static_cast<int>(in.extents.B));
  const int block_first = place.tile * kBlockRows, kv_head = place.head, b = place.b;
  const int first_head = kv_head * static_cast<int>(in.group);
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  const int g = lane / 4, t = lane % 4;
  const int key = block_first + warp * kWarpRows + 2 * g;  // and the next
  const int positions[2] = {key_position(in, key), key_position(in, key + 1)};
  const AttentionRandom random(in);

  int lowest = block_first;
  if (in.key_positions != nullptr)
    lowest = __reduce_min_sync(
        kWholeWarp, min(key_position(in, block_first + lane), key_position(in, block_first + kWarp + lane)));
  const QueryTiles tiles(in, b, lowest);

  Staying k, v;
  k.load(in.k, in, b, kv_head, block_first, tiles_address + 4 * Tile::kBytes);
  v.load(in.v, in, b, kv_head, block_first, tiles_address + 4 * Tile::kBytes + Staying::kBytes);
  const auto copy = [&](int i, int stage) {
    const int head = first_head + tiles.head(i), first = tiles.first(i);
    const unsigned at = tiles_address + stage * 2 * Tile::kBytes;
    Tile::template copy<InOrder, kGradientThreads>(row_of<Element>(in.q, b, 0, head), in.q.token_stride,
                                                   first, T, D, at);
    Tile::template copy<InOrder, kGradientThreads>(row_of<Element>(gradient.dy, b, 0, head),
                                                   gradient.dy.token_stride, first, T, D, at + Tile::kBytes);
    if (thread < kTileRows) {
      const int token = first + thread;
      const std::int64_t row = (static_cast<std::int64_t>(b) * H + head) * T;
      const int safe = min(token, T - 1);
      copy_4_bytes(shared_address(&numbers[stage].statistics[thread]), gradient.statistics + row + safe,
                   true);
      copy_4_bytes(shared_address(&numbers[stage].sums[thread]), scratch.sums + row + safe, true);
      numbers[stage].limits[thread] = token < T ? attention_limit(in, b, token) : 0;
    }
    end_of_copies();
  };

  Fragment dk[kWidth / 8] = {}, dv[kWidth / 8] = {};
  const float scale = in.scale * kLog2E;
  int i = tiles.next(0);
  if (i < tiles.end()) copy(i, 0);
  for (int stage = 0; i < tiles.end(); stage ^= 1) {
    const int next = tiles.next(i + 1);
    wait_for_copies();
    __syncthreads();
    if (next < tiles.end()) copy(next, stage ^ 1);
    const unsigned query_tile = tiles_address + stage * 2 * Tile::kBytes, dy_tile = query_tile + Tile::kBytes;
    const QueryNumbers& of_queries = numbers[stage];
    const int head = first_head + tiles.head(i), first = tiles.first(i);
    // Block of the random numbers of query 0 and this thread's keys.
    const std::uint64_t head_block =
        in.drops() ? static_cast<std::uint64_t>(random.row(b, head, 0) + (key & ~3)) / 4 : 0;

#pragma unroll 1
    for (int part = 0; part < kTileRows && first + part < T; part += kPassing) {
      Fragment p[kProducts] = {}, ds[kProducts] = {};
#pragma unroll
      for (int d = 0; d < kWidth / 16; ++d) {
        unsigned a[4], r[4];
        k.left_operand(d, a);
#pragma unroll
        for (int j = 0; j < kProducts / 2; ++j) {
          Tile::rows_as_columns(query_tile, part / 16 + j, d, r);
          multiply_add(p[2 * j], a, r[0], r[1], Element{});
          multiply_add(p[2 * j + 1], a, r[2], r[3], Element{});
        }
        v.left_operand(d, a);
#pragma unroll
        for (int j = 0; j < kProducts / 2; ++j) {
          Tile::rows_as_columns(dy_tile, part / 16 + j, d, r);
          multiply_add(ds[2 * j], a, r[0], r[1], Element{});
          multiply_add(ds[2 * j + 1], a, r[2], r[3], Element{});
        }
      }
      // This thread has queries 8 n + 2 t and the next.
      unsigned kept = ~0U;  // bits 4 n + 2 * key + query
      if (in.drops()) {
        // Four keys share random numbers: two of this thread, two of the one four lanes away. Each computes
        // those of one of the two queries.
        const int odd = g & 1, query = first + part + 2 * t + odd;
        unsigned mine = 0;
        if (random.in_fours()) {
          std::uint64_t blocks[kProducts];
          unsigned words[kProducts][4];
          const std::uint64_t fours = static_cast<std::uint64_t>(S) / 4;
#pragma unroll
          for (int n = 0; n < kProducts; ++n)
            blocks[n] = head_block + static_cast<unsigned>(query + 8 * n) * fours;
          random.words(blocks, words);
#pragma unroll
          for (int n = 0; n < 4 * kProducts; ++n)
            if (random.keeps(words[n / 4][n % 4])) mine |= 1U << n;
        } else {
#pragma unroll 1
          for (int n = 0; n < kProducts; ++n) {
            const int token = dropout_token(in, min(query + 8 * n, T - 1));
            mine |= kept_one_by_one(in, random, random.row(b, head, token), key & ~3) << 4 * n;
          }
        }
        const unsigned other = __shfl_xor_sync(kWholeWarp, mine, 4);
        const unsigned queries[2] = {odd != 0 ? other : mine, odd != 0 ? mine : other};
        kept = 0;
#pragma unroll
        for (int query = 0; query < 2; ++query) {
          const unsigned keys = queries[query] >> 2 * odd;
          kept |= (keys & 0x11111111U) << query | (keys & 0x22222222U) >> 1 << (2 + query);
        }
        if ((key & ~15) < S)
          scratch.kept[kept_place(in, {.b = b, .head = head, .query = first + part, .key = key})] =
              static_cast<std::uint16_t>(kept);
      }
#pragma unroll
      for (int n = 0; n < kProducts; ++n) {
        const int at = part + 8 * n + 2 * t;
        const float2 statistics = *reinterpret_cast<const float2*>(of_queries.statistics + at);
        const float2 y_dy = *reinterpret_cast<const float2*>(of_queries.sums + at);
        const int2 limits = *reinterpret_cast<const int2*>(of_queries.limits + at);
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const bool seen = positions[e / 2] < (e % 2 != 0 ? limits.y : limits.x);
          const float base = (e % 2 != 0 ? statistics.y : statistics.x) * kLog2E;
          const float probability = seen ? power_of_two(p[n][e] * scale - base) : 0.0F;
          const float factor = (kept >> (4 * n + e) & 1U) != 0 ? in.dropout.scale : 0.0F;
          p[n][e] = probability * factor;
          ds[n][e] = probability * (factor * ds[n][e] - (e % 2 != 0 ? y_dy.y : y_dy.x));
        }
      }
#pragma unroll
      for (int n = 0; n < kPassing / 16; ++n) {
        unsigned a[4], a_ds[4], r[4];
        pack<Element>(p[2 * n], p[2 * n + 1], a);
        pack<Element>(ds[2 * n], ds[2 * n + 1], a_ds);
#pragma unroll
        for (int j = 0; j < kWidth / 16; ++j) {
          Tile::rows_as_summands(dy_tile, part / 16 + n, j, r);
          multiply_add(dv[2 * j], a, r[0], r[1], Element{});
          multiply_add(dv[2 * j + 1], a, r[2], r[3], Element{});
          Tile::rows_as_summands(query_tile, part / 16 + n, j, r);
          multiply_add(dk[2 * j], a_ds, r[0], r[1], Element{});
          multiply_add(dk[2 * j + 1], a_ds, r[2], r[3], Element{});
        }
      }
    }
    i = next;
  }
  wait_for_copies();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    if (key + half >= S) continue;
    store_row<Element, kWidth>(row_of<Element>(gradient.dk, b, key + half, kv_head), dk, half, D, in.scale,
                               gradient.add_dk);
    store_row<Element, kWidth>(row_of<Element>(gradient.dv, b, key + half, kv_head), dv, half, D, 1,
                               gradient.add_dv);
  }
}

template <class Element, int kWidth>
__global__ __launch_bounds__(kGradientThreads, kBlocks<kWidth>) void tensor_core_queries_gradient(
    const AttentionGradient gradient, const TensorCoreScratch scratch) {
  using Tile = TensorCoreTile<Element, kWidth>;
  const AttentionOperands& in = gradient.in;
  const int T = static_cast<int>(in.extents.T), S = static_cast<int>(in.extents.S);
  const int D = static_cast<int>(in.extents.D), H = static_cast<int>(in.extents.H);
  extern __shared__ uint4 shared_memory[];
  const unsigned tiles_address = shared_address(shared_memory);  // [2][keys, values]

  const int blocks = (T + kBlockRows - 1) / kBlockRows;
  const BlockPlace place(blocks, H, static_cast<int>(in.extents.B));
  const int block_first = (blocks - 1 - place.tile) * kBlockRows, head = place.head, b = place.b;
  const int kv_head = head / static_cast<int>(in.group);
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int g = lane / 4, t = lane % 4;
  const int tokens[2] = {block_first + warp * kWarpRows + g, block_first + warp * kWarpRows + g + 8};

  int limits[2];
  float bases[2] = {}, y_dy[2] = {};
  const Element *q_rows[2] = {}, *dy_rows[2] = {};
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    limits[half] = 0;
    if (tokens[half] >= T) continue;
    const std::int64_t row = (static_cast<std::int64_t>(b) * H + head) * T + tokens[half];
    limits[half] = attention_limit(in, b, tokens[half]);
    bases[half] = gradient.statistics[row] * kLog2E;
    y_dy[half] = scratch.sums[row];
    q_rows[half] = row_of<Element>(in.q, b, tokens[half], head);
    dy_rows[half] = row_of<Element>(gradient.dy, b, tokens[half], head);
  }
  RowsInRegisters<Element, kWidth> q, dy;
  q.load(q_rows[0], q_rows[1], D);
  dy.load(dy_rows[0], dy_rows[1], D);

  const Element* const keys = row_of<Element>(in.k, b, 0, kv_head);
  const Element* const values = row_of<Element>(in.v, b, 0, kv_head);
  const KeyTiles tiles(in, b, block_first, min(T, block_first + kBlockRows));
  // Bits of queries g and g + 8 and of keys 4 t, 4 t + 1 in every 16 were with thread 4 (2 t) + g / 2 of the
  // first kernel, those of the next two keys with the thread four further.
  const std::uint16_t* const kept_bits =
      scratch.kept + kept_place(in, {.b = b, .head = head, .query = min(tokens[0], T - 1), .key = 0}) - lane +
      8 * t + g / 2;
  const int kept_shift = warp % 2 * 8 + g % 2;
  const auto copy = [&](int tile, int stage) {
    const unsigned at = tiles_address + stage * 2 * Tile::kBytes;
    const int first = tile * kTileRows, count = tiles.keys();
    Tile::template copy<NeighboursInColumns, kGradientThreads>(keys, in.k.token_stride, first, count, D, at);
    Tile::template copy<NeighboursInColumns, kGradientThreads>(values, in.v.token_stride, first, count, D,
                                                               at + Tile::kBytes);
    end_of_copies();
  };

  Fragment dq[kWidth / 8] = {};
  const float scale = in.scale * kLog2E;
  int tile = tiles.next(0);
  if (tile < tiles.count()) copy(tile, 0);
  for (int stage = 0; tile < tiles.count(); stage ^= 1) {
    const int next = tiles.next(tile + 1);
    wait_for_copies();
    __syncthreads();
    if (next < tiles.count()) copy(next, stage ^ 1);
    const unsigned key_tile = tiles_address + stage * 2 * Tile::kBytes, value_tile = key_tile + Tile::kBytes;

#pragma unroll 1
    for (int part = 0; part < kTileRows && tile * kTileRows + part < S; part += kPassing) {
      const int first = tile * kTileRows + part;
      // Bits for this thread's 4 keys in every 16: two from each of two threads of the first kernel. Bits 8 j + 4 *
      // query, then keys 0, 2, 1, 3.
      unsigned kept = ~0U;
      if (in.drops()) {
        kept = 0;
#pragma unroll
        for (int j = 0; j < kPassing / 16; ++j) {
          const std::uint16_t* const bits = kept_bits + min(first / 16 + j, (S - 1) / 16) * kWarp;
          const unsigned left = bits[0], right = bits[4];
          kept |= (left >> kept_shift & 0x55U | (right >> kept_shift & 0x55U) << 1) << 8 * j;
        }
      }
      Fragment p[kProducts] = {}, ds[kProducts] = {};
#pragma unroll
      for (int d = 0; d < kWidth / 16; ++d)
#pragma unroll
        for (int j = 0; j < kProducts / 2; ++j) {
          unsigned r[4];
          Tile::rows_as_columns(key_tile, part / 16 + j, d, r);
          multiply_add(p[2 * j], q.a[d], r[0], r[1], Element{});
          multiply_add(p[2 * j + 1], q.a[d], r[2], r[3], Element{});
          Tile::rows_as_columns(value_tile, part / 16 + j, d, r);
          multiply_add(ds[2 * j], dy.a[d], r[0], r[1], Element{});
          multiply_add(ds[2 * j + 1], dy.a[d], r[2], r[3], Element{});
        }
        // This thread has keys 16 j + 4 t to 16 j + 4 t + 3.
#pragma unroll
      for (int j = 0; j < kProducts / 2; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int position = key_position(in, first + 16 * j + 4 * t + i);
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const int n = 2 * j + i / 2, e = 2 * half + i % 2;
            const float probability =
                position < limits[half] ? power_of_two(p[n][e] * scale - bases[half]) : 0.0F;
            const float factor =
                (kept >> (8 * j + 4 * half + i % 2 * 2 + i / 2) & 1U) != 0 ? in.dropout.scale : 0.0F;
            ds[n][e] = probability * (factor * ds[n][e] - y_dy[half]);
          }
        }
#pragma unroll
      for (int n = 0; n < kPassing / 16; ++n) {
        unsigned a[4];
        pack<Element>(ds[2 * n], ds[2 * n + 1], a);
#pragma unroll
        for (int j = 0; j < kWidth / 16; ++j) {
          unsigned r[4];
          Tile::rows_as_summands(key_tile, part / 16 + n, j, r);
          multiply_add(dq[2 * j], a, r[0], r[1], Element{});
          multiply_add(dq[2 * j + 1], a, r[2], r[3], Element{});
        }
      }
    }
    tile = next;
  }
#pragma unroll
  for (int half = 0; half < 2; ++half)
    if (tokens[half] < T)
      store_row<Element, kWidth>(row_of<Element>(gradient.dq, b, tokens[half], head), dq, half, D, in.scale,
                                 gradient.add_dq);
}

template <class Element, int kWidth>
void launch_width(const AttentionGradient& gradient, const TensorCoreScratch& scratch, cudaStream_t stream) {
  const AttentionExtents& e = gradient.in.extents;
  const auto launch = [&](auto kernel, std::int64_t tokens, std::int64_t heads, int bytes) {
    allow_shared_memory(kernel, static_cast<std::size_t>(bytes));
    const unsigned grid = blocks_for(tokens, kBlockRows) * static_cast<unsigned>(heads * e.B);
    kernel<<<grid, kGradientThreads, bytes, stream>>>(gradient, scratch);
  };
  launch(tensor_core_keys_gradient<Element, kWidth>, e.S, e.K, keys_gradient_bytes<Element, kWidth>());
  launch(tensor_core_queries_gradient<Element, kWidth>, e.T, e.H,
         4 * TensorCoreTile<Element, kWidth>::kBytes);
}

template <class Element>
void launch_type(const AttentionGradient& gradient, const TensorCoreScratch& scratch, cudaStream_t stream) {
  const std::int64_t D = gradient.in.extents.D;
  if (D <= 32) return launch_width<Element, 32>(gradient, scratch, stream);
  if (D <= 64) return launch_width<Element, 64>(gradient, scratch, stream);
  launch_width<Element, 128>(gradient, scratch, stream);
}

}  // namespace

bool launch_tensor_core_gradient(const AttentionGradient& gradient, const TensorCoreScratch& scratch,
                                 const DeviceTraits& traits, cudaStream_t stream) {
  const AttentionOperands& in = gradient.in;
  if (traits.compute_capability < 80 || !suits_tensor_cores(in)) return false;
  for (const HeadRows* rows : {&gradient.dy, &gradient.dq, &gradient.dk, &gradient.dv})
    if (!suits_tensor_cores(*rows, in)) return false;
  if (in.q.dtype == DType::kBF16)
    launch_type<__nv_bfloat16>(gradient, scratch, stream);
  else
    launch_type<__half>(gradient, scratch, stream);
  return true;
}

}  // namespace nadi::inline engines::cuda
