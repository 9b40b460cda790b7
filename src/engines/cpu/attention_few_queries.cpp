#include "nadi/cpu/attention_few_queries.h"

#include <algorithm>
#include <array>

#include "nadi/cpu/row_prefetch.h"

namespace nadi::inline engines::cpu {
namespace {

// Rows of keys or values, D wide and `stride` apart.
struct Rows {
  const float* data;
  std::int64_t stride;
};

Rows rows_of(const HeadRows& heads, const HeadRows::Place& first, std::int64_t count, float* tile,
             std::int64_t D) {
  if (heads.plain()) return {heads.in_place(first), heads.token_stride()};
  heads.load_tile(first, count, tile);
  return {tile, tile_stride(D)};
}

float dot(const float* a, const float* b, std::int64_t count) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

constexpr std::int64_t kKeysAtOnce = 4;

// Four keys at a time, whose sums do not wait for each other.
void score(const float* q, const Rows& keys, std::int64_t count, std::int64_t D, float* scores,
           RowPrefetch& prefetch) {
  std::int64_t j = 0;
  for (; j + kKeysAtOnce <= count; j += kKeysAtOnce) {
    prefetch.step();
    const float* key = keys.data + j * keys.stride;
    float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
    for (std::int64_t i = 0; i < D; ++i) {
      s0 += q[i] * key[i];
      s1 += q[i] * key[keys.stride + i];
      s2 += q[i] * key[2 * keys.stride + i];
      s3 += q[i] * key[3 * keys.stride + i];
    }
    scores[j] = s0;
    scores[j + 1] = s1;
    scores[j + 2] = s2;
    scores[j + 3] = s3;
  }
  for (; j < count; ++j) scores[j] = dot(q, keys.data + j * keys.stride, D);
}

// Four values at a time, so that y is read and written once for them.
void add_values(const float* weights, const Rows& values, std::int64_t count, std::int64_t D, float* y) {
  std::int64_t j = 0;
  for (; j + kKeysAtOnce <= count; j += kKeysAtOnce) {
    const float* value = values.data + j * values.stride;
    const float w0 = weights[j], w1 = weights[j + 1], w2 = weights[j + 2], w3 = weights[j + 3];
#pragma omp simd
    for (std::int64_t i = 0; i < D; ++i)
      y[i] += w0 * value[i] + w1 * value[values.stride + i] + w2 * value[2 * values.stride + i] +
              w3 * value[3 * values.stride + i];
  }
  for (; j < count; ++j) {
    const float* value = values.data + j * values.stride;
#pragma omp simd
    for (std::int64_t i = 0; i < D; ++i) y[i] += weights[j] * value[i];
  }
}

}  // namespace

void attend_few(const AttentionOperands& in, std::int64_t b, std::int64_t kv_head, const FewQueries& rows) {
  const std::int64_t D = in.extents.D, stride = tile_stride(D);
  std::array<std::int64_t, kFewRows> limits{};
  in.fill_limits(b, 0, std::span(limits).first(in.rows));
  const std::int64_t limit = *std::ranges::max_element(limits);
  RowPrefetch prefetch;
  for (std::int64_t n = 0; n < in.key_tiles(); ++n) {
    const KeyTile tile = in.key_tile(n * kKeyRows);
    const std::int64_t columns = tile.columns(limit);
    if (columns == 0) continue;
    const HeadRows::Place first{.b = b, .token = tile.first, .head = kv_head};
    prefetch.begin(in.rows * columns / kKeysAtOnce);
    if (n + 1 < in.key_tiles() && in.key_tile(tile.first + kKeyRows).lowest < limit) {
      const HeadRows::Place next{.b = b, .token = tile.first + kKeyRows, .head = kv_head};
      const std::int64_t count = std::min(kKeyRows, in.extents.S - next.token);
      prefetch.add(in.k.span_of(next, count));
      prefetch.add(in.v.span_of(next, count));
    }
    const Rows keys = rows_of(in.k, first, columns, rows.keys, D);
    const Rows values = rows_of(in.v, first, columns, rows.values, D);
    for (std::int64_t r = 0; r < in.rows; ++r) {
      float* scores = rows.scores + r * kScoreStride;
      score(rows.q + r * stride, keys, columns, D, scores, prefetch);
      tile.mask(scores, columns, limits[r]);
      multiply_row(rows.y + r * stride, D, rows.softmax[r].add(scores, columns));
      if (in.drops) {
        in.dropout_factors(in.query(b, kv_head, r), tile, columns, rows.factors);
        for (std::int64_t j = 0; j < columns; ++j) scores[j] *= rows.factors[j];
      }
      add_values(scores, values, columns, D, rows.y + r * stride);
    }
  }
}

}  // namespace nadi::inline engines::cpu
