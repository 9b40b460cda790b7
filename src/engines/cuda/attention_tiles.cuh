// Attention in fp32 arithmetic, tile by tile, for any element type, strides and head width: the plain path.
// A block of 16 x 16 threads has tiles of kRows rows and kWidth columns in shared memory, zeros behind the
// head's D columns, and computes kRows x kRows scores at a time. Thread (ty, tx) has rows ty + 16 i of the
// queries and rows tx + 16 j of the keys; keys are laid out so that those are neighbours, which share random
// numbers: key n of a tile is in row (n % kEach) * 16 + n / kEach.
#pragma once

#include "nadi/cuda/attention_device.cuh"

namespace nadi::inline engines::cuda {

template <int kWidth_, int kRows_>
struct AttentionTiles {
  static constexpr int kWidth = kWidth_;
  static constexpr int kRows = kRows_;
  static constexpr int kThreads = 256;
  static constexpr int kSide = 16;
  static constexpr int kEach = kRows / kSide;      // rows per thread
  static constexpr int kStride = kWidth + 4;       // of a tile's rows; no two of 8 rows share a bank
  static constexpr int kScoreStride = kRows + 4;   // of rows of scores
  static constexpr int kColumns = kWidth / kSide;  // of a result, per thread
  static constexpr int kTile = kRows * kStride;    // floats
  static constexpr int kScores = kRows * kScoreStride;
  static_assert(kWidth % 64 == 0 && kRows % kSide == 0);

  using Scores = float[kEach][kEach];
  using Sums = float[kEach][kColumns];

  __device__ static int tx() { return static_cast<int>(threadIdx.x) % kSide; }
  __device__ static int ty() { return static_cast<int>(threadIdx.x) / kSide; }
  __device__ static int row_of_key(int key) { return key % kEach * kSide + key / kEach; }
  __device__ static int key_of_row(int row) { return row % kSide * kEach + row / kSide; }

  struct Rows {
    int b, head, first, count;  // tokens from `first` on, of which `count` exist in the tensor
    int width;                  // D
    bool keys;                  // in the order of keys
  };
  __device__ static void load(const HeadRows& from, const Rows& rows, float* tile) {
    for (int i = static_cast<int>(threadIdx.x); i < kRows * kWidth; i += kThreads) {
      const int n = i / kWidth, d = i % kWidth, token = rows.first + n;
      float x = 0;
      if (token < rows.count && d < rows.width)
        x = load_as_float(from.data, from.dtype,
                          row_offset(from, rows.b, token, rows.head) + d * from.element_stride);
      tile[(rows.keys ? row_of_key(n) : n) * kStride + d] = x;
    }
  }

  // scores = a b^T, of this thread's rows.
  __device__ static void multiply(const float* a, const float* b, Scores& scores) {
#pragma unroll
    for (int i = 0; i < kEach; ++i)
#pragma unroll
      for (int j = 0; j < kEach; ++j) scores[i][j] = 0;
#pragma unroll 4
    for (int d = 0; d < kWidth; d += 4) {
      float4 left[kEach], right[kEach];
#pragma unroll
      for (int i = 0; i < kEach; ++i)
        left[i] = *reinterpret_cast<const float4*>(a + (ty() + kSide * i) * kStride + d);
#pragma unroll
      for (int j = 0; j < kEach; ++j)
        right[j] = *reinterpret_cast<const float4*>(b + (tx() + kSide * j) * kStride + d);
#pragma unroll
      for (int i = 0; i < kEach; ++i)
#pragma unroll
        for (int j = 0; j < kEach; ++j)
          scores[i][j] += left[i].x * right[j].x + left[i].y * right[j].y + left[i].z * right[j].z +
                          left[i].w * right[j].w;
    }
  }

  __device__ static void store_scores(const Scores& scores, float* to) {
#pragma unroll
    for (int i = 0; i < kEach; ++i)
#pragma unroll
      for (int j = 0; j < kEach; ++j) to[(ty() + kSide * i) * kScoreStride + tx() + kSide * j] = scores[i][j];
  }

  __device__ static void clear(Sums& sums) {
#pragma unroll
    for (int i = 0; i < kEach; ++i)
#pragma unroll
      for (int c = 0; c < kColumns; ++c) sums[i][c] = 0;
  }
  // Columns of a result that a thread has: 4 neighbours of every 64.
  __device__ static int column(int c) {
    return tx() * 4 + c / 4 * 64 + c % 4;
  }

  // sums += scores b: a sum over keys, of rows ty + 16 i.
  __device__ static void add_over_keys(const float* scores, const float* b, Sums& sums) {
#pragma unroll 4
    for (int n = 0; n < kRows; ++n) {
      float weights[kEach];
#pragma unroll
      for (int i = 0; i < kEach; ++i) weights[i] = scores[(ty() + kSide * i) * kScoreStride + n];
      add_row(weights, b + n * kStride, sums);
    }
  }
  // sums += scores^T b: a sum over queries, of rows ty * kEach + i of the keys.
  __device__ static void add_over_queries(const float* scores, const float* b, Sums& sums) {
#pragma unroll 4
    for (int n = 0; n < kRows; ++n) {
      float weights[kEach];
#pragma unroll
      for (int i = 0; i < kEach; ++i) weights[i] = scores[n * kScoreStride + ty() * kEach + i];
      add_row(weights, b + n * kStride, sums);
    }
  }

  // Row `token` of a result; element c of `sums` times `scale`.
  struct Place {
    int b, token, head, width;
    bool add;
  };
  __device__ static void store(const HeadRows& to, const Place& at, const float (&sums)[kColumns],
                               float scale) {
    const std::int64_t row = row_offset(to, at.b, at.token, at.head);
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      if (column(c) >= at.width) continue;
      const std::int64_t i = row + column(c) * to.element_stride;
      float x = sums[c] * scale;
      if (at.add) x += load_as_float(to.data, to.dtype, i);
      store_float(to.data, to.dtype, i, x);
    }
  }

  // Over the threads that have the same queries.
  __device__ static float row_max(float x) {
    for (int offset = kSide / 2; offset > 0; offset /= 2)
      x = fmaxf(x, __shfl_xor_sync(kWholeWarp, x, offset));
    return x;
  }
  __device__ static float row_sum(float x) {
    for (int offset = kSide / 2; offset > 0; offset /= 2) x += __shfl_xor_sync(kWholeWarp, x, offset);
    return x;
  }

  // What dropout multiplies the probabilities of a query by that this thread has, from number `row` on.
  // `positions`: of the tile's keys.
  __device__ static void dropout_factors(const AttentionRandom& random, std::int64_t row,
                                         const int* positions, float (&factors)[kEach]) {
    std::int64_t block = -1;
    unsigned bits = 0;
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const std::int64_t element = row + positions[tx() * kEach + j];
      if (element / 4 != block) {
        block = element / 4;
        bits = random.kept_of_block(block);
      }
      factors[j] = (bits >> (element % 4) & 1U) != 0 ? random.scale() : 0.0F;
    }
  }

 private:
  __device__ static void add_row(const float (&weights)[kEach], const float* row, Sums& sums) {
#pragma unroll
    for (int c = 0; c < kColumns; c += 4) {
      const float4 x = *reinterpret_cast<const float4*>(row + tx() * 4 + c * kSide);
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        sums[i][c] += weights[i] * x.x;
        sums[i][c + 1] += weights[i] * x.y;
        sums[i][c + 2] += weights[i] * x.z;
        sums[i][c + 3] += weights[i] * x.w;
      }
    }
  }
};

// Calls with the tiles that fit a head of width D and the shared memory, of which the kernel uses
// `bytes(tiles)`.
template <class Bytes, class F>
void with_attention_tiles(std::int64_t D, std::int64_t shared_memory, Bytes bytes, F f) {
  if (D <= 64) return f(AttentionTiles<64, 64>{});
  if (D <= 128) {
    if (bytes(AttentionTiles<128, 64>{}) <= shared_memory) return f(AttentionTiles<128, 64>{});
    return f(AttentionTiles<128, 32>{});
  }
  if (bytes(AttentionTiles<256, 32>{}) <= shared_memory) return f(AttentionTiles<256, 32>{});
  f(AttentionTiles<256, 16>{});
}

}  // namespace nadi::inline engines::cuda
