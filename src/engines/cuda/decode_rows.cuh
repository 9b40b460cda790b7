// The arguments of the kernels of products with few rows, and the rows that these bring to shared memory
// before they go over the weights (decode_product.cuh).
#pragma once

#include <type_traits>

#include "nadi/cuda/device_code.cuh"
#include "nadi/graph/ops/matmul.h"

namespace nadi::inline engines::cuda::decode {

inline constexpr int kThreads = 256, kWarps = kThreads / kWarp;
inline constexpr int kMostProducts = 3;
inline constexpr int kMostAngles = 128;  // half the width of a head

enum class NormKind : std::uint8_t { kNone, kRms, kLayer };

struct Norm {
  NormKind kind = NormKind::kNone;
  float epsilon = 0;
  const void* weight = nullptr;
  DType weight_dtype = DType::kF32;
  const void* bias = nullptr;
  DType bias_dtype = DType::kF32;
  // Where they are wanted: the normalised rows, in x's type, and what the gradient needs.
  void* y = nullptr;
  std::int64_t y_stride = 0;
  float* mean = nullptr;
  float* reciprocal = nullptr;
};

struct OneProduct {
  const void* weights = nullptr;
  std::int64_t leading = 0;  // elements from a row of weights to the next
  std::int64_t n = 0;
  std::int64_t first_unit = 0;  // units of the products before
  float alpha = 1;
  const void* bias = nullptr;
  DType bias_dtype = DType::kF32;
  void* product = nullptr;  // wanted besides y: before activation, rotation or gate; y's type
  std::int64_t product_stride = 0;
  Activation activation = Activation::kNone;
  int half = 0;  // of the width of a head, where heads are turned; otherwise 0
  const void* summand = nullptr;
  DType summand_dtype = DType::kF32;
  std::int64_t summand_stride = 0;
  void* y = nullptr;  // nullptr where only the cache is written
  DType y_dtype = DType::kF32;
  std::int64_t y_stride = 0;
  bool accumulate = false;
  // A KV cache [B, cache_rows, n] that the result is written to, too: row t of sequence b at
  // cache_positions[b] + t, or at t.
  void* cache = nullptr;
  DType cache_dtype = DType::kF32;
  std::int64_t cache_rows = 0;
  const std::int32_t* cache_positions = nullptr;
};

struct Products {
  const void* x = nullptr;
  std::int64_t x_stride = 0;
  std::int64_t k = 0, padded_k = 0;
  int rows = 0;
  Norm norm;
  int count = 0;
  OneProduct product[kMostProducts];
  std::int64_t units = 0;
  int gate = -1;  // which of two products is the gate of the other; then product[0].y is the result
  int lanes = 0;  // of a warp that share a row of weights [k, n]
  // Rotation: the position of row r is token_positions[t] or positions[b] + t, with r + first_row = b * T +
  // t.
  const std::int32_t* positions = nullptr;
  const std::int32_t* token_positions = nullptr;
  int tokens = 1;
  int first_row = 0;
  int angles = 0;
  double frequency[kMostAngles];
};

// Where V elements from `k` on lie in shared memory. Eight that a lane reads are two vectors of four: these
// lie apart, so that lanes side by side read side by side.
template <int V, bool kInterleaved>
__device__ inline std::int64_t place_of(std::int64_t k) {
  if constexpr (kInterleaved && V == 8)
    return k / 256 * 256 + k % 256 / 2;
  else
    return k;
}
template <int V, bool kInterleaved>
__device__ inline void get_values(const float* x, std::int64_t k, float (&values)[V]) {
  const float* at = x + place_of<V, kInterleaved>(k);
  if constexpr (V == 1) {
    values[0] = *at;
  } else {
#pragma unroll
    for (int i = 0; i < V; i += 4) {
      const float4 four = *reinterpret_cast<const float4*>(at + (kInterleaved && V == 8 ? i * 32 : i));
      values[i] = four.x, values[i + 1] = four.y, values[i + 2] = four.z, values[i + 3] = four.w;
    }
  }
}
template <int V, bool kInterleaved>
__device__ inline void put_values(float* x, std::int64_t k, const float (&values)[V]) {
  float* at = x + place_of<V, kInterleaved>(k);
  if constexpr (V == 1) {
    *at = values[0];
  } else {
#pragma unroll
    for (int i = 0; i < V; i += 4)
      *reinterpret_cast<float4*>(at + (kInterleaved && V == 8 ? i * 32 : i)) =
          make_float4(values[i], values[i + 1], values[i + 2], values[i + 3]);
  }
}

// A vector of a norm's weight or bias: one load where its type is x's and its address allows it.
template <class T, int V>
__device__ inline bool is_vector_of(const void* from, DType dtype) {
  constexpr DType kType = sizeof(T) == 4              ? DType::kF32
                          : std::is_same_v<T, __half> ? DType::kF16
                                                      : DType::kBF16;
  return dtype == kType && reinterpret_cast<std::uintptr_t>(from) % (sizeof(T) * V) == 0;
}
template <class T, int V>
__device__ inline void get_weights(const void* from, DType dtype, bool same_type, std::int64_t k,
                                   float (&values)[V]) {
  if (same_type) {
    const Vector<T, V> loaded = load_vector<T, V>(static_cast<const T*>(from) + k);
#pragma unroll
    for (int i = 0; i < V; ++i) values[i] = loaded.at(i);
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i) values[i] = load_as_float(from, dtype, k + i);
  }
}

// Asks for what bring_rows() will read besides x: it was pushed out of the L2 cache since the last token.
template <class T, int V>
__device__ void prefetch_norm(const Norm& norm, std::int64_t width) {
  const auto prefetch = [&](const void* from, DType dtype, std::int64_t k) {
    if (from == nullptr) return;
    const std::int64_t size = dtype == DType::kF32 ? 4 : 2;
    asm volatile("prefetch.global.L2 [%0];" ::"l"(static_cast<const std::byte*>(from) + k * size));
  };
  for (std::int64_t k = static_cast<std::int64_t>(threadIdx.x) * V; k < width;
       k += std::int64_t{kThreads} * V) {
    prefetch(norm.weight, norm.weight_dtype, k);
    prefetch(norm.bias, norm.bias_dtype, k);
  }
}

// Asks for the rows of the caches that are there already, which attention will read next: a line per thread
// and sequence, of short caches all.
__device__ inline void prefetch_caches(const Products& p) {
  constexpr std::int64_t kLine = 128;
  for (int q = 0; q < p.count; ++q) {
    const OneProduct& product = p.product[q];
    if (product.cache == nullptr || product.cache_positions == nullptr) continue;
    const std::int64_t row = product.n * (product.cache_dtype == DType::kF32 ? 4 : 2);
    for (int b = p.first_row / p.tokens; b * p.tokens < p.first_row + p.rows; ++b) {
      const std::int64_t rows =
          min(static_cast<std::int64_t>(product.cache_positions[b]), product.cache_rows);
      const std::int64_t at = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * kLine;
      if (at < rows * row)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(static_cast<const std::byte*>(product.cache) +
                                                      b * product.cache_rows * row + at));
    }
  }
}

// Rows of x to shared memory, up to a factor of each row that is left for the sums (`scales`); zeros up to
// padded_k and for rows that are not there. Of RMS norm x * weight is brought, and the factor is the
// reciprocal root: nobody waits for it before the products. A thread comes back to its own elements only,
// until the block meets at the end.
template <class T, int V, int R, bool kInterleaved>
__device__ void bring_rows(const Products& p, float* x, float* scratch, float (&scales)[R]) {
  const auto first = static_cast<std::int64_t>(threadIdx.x) * V;
  constexpr std::int64_t kStep = std::int64_t{kThreads} * V;
  const bool rms = p.norm.kind == NormKind::kRms;
  const bool plain_weight = is_vector_of<T, V>(p.norm.weight, p.norm.weight_dtype);
  const bool plain_bias = is_vector_of<T, V>(p.norm.bias, p.norm.bias_dtype);
  for (int r = 0; r < R; ++r) {
    float* to = x + r * p.padded_k;
    float sum = 0;
    for (std::int64_t k = first; k < p.padded_k; k += kStep) {
      float values[V] = {};
      if (r < p.rows && k < p.k) {
        float weight[V];
        if (rms) get_weights<T, V>(p.norm.weight, p.norm.weight_dtype, plain_weight, k, weight);
        const Vector<T, V> loaded = load_vector<T, V>(static_cast<const T*>(p.x) + r * p.x_stride + k);
#pragma unroll
        for (int i = 0; i < V; ++i) {
          values[i] = loaded.at(i);
          sum += rms ? values[i] * values[i] : values[i];
          if (rms) values[i] *= weight[i];
        }
      }
      put_values<V, kInterleaved>(to, k, values);
    }
    if (threadIdx.x == 0) scales[r] = 1.0F;
    if (p.norm.kind == NormKind::kNone || r >= p.rows) continue;
    float mean = 0, square = block_sum(sum, scratch) / static_cast<float>(p.k);
    if (!rms) {
      mean = square;
      float squares = 0;
      for (std::int64_t k = first; k < p.k; k += kStep) {
        float values[V];
        get_values<V, kInterleaved>(to, k, values);
#pragma unroll
        for (int i = 0; i < V; ++i) squares += (values[i] - mean) * (values[i] - mean);
      }
      square = block_sum(squares, scratch) / static_cast<float>(p.k);
    }
    const float reciprocal = 1.0F / sqrtf(square + p.norm.epsilon);
    if (threadIdx.x == 0) {
      if (rms) scales[r] = reciprocal;
      if (blockIdx.x == 0 && p.norm.mean != nullptr) p.norm.mean[r] = mean;
      if (blockIdx.x == 0 && p.norm.reciprocal != nullptr) p.norm.reciprocal[r] = reciprocal;
    }
    const bool stores = blockIdx.x == 0 && p.norm.y != nullptr;
    if (rms && !stores) continue;
    for (std::int64_t k = first; k < p.k; k += kStep) {
      float values[V];
      get_values<V, kInterleaved>(to, k, values);
      if (!rms) {
        float weight[V], bias[V] = {};
        get_weights<T, V>(p.norm.weight, p.norm.weight_dtype, plain_weight, k, weight);
        if (p.norm.bias != nullptr) get_weights<T, V>(p.norm.bias, p.norm.bias_dtype, plain_bias, k, bias);
#pragma unroll
        for (int i = 0; i < V; ++i) values[i] = (values[i] - mean) * reciprocal * weight[i] + bias[i];
        put_values<V, kInterleaved>(to, k, values);
      }
      if (!stores) continue;
      Vector<T, V> rounded;
#pragma unroll
      for (int i = 0; i < V; ++i) rounded.set(i, rms ? values[i] * reciprocal : values[i]);
      store_vector<T, V>(static_cast<T*>(p.norm.y) + r * p.norm.y_stride + k, rounded);
    }
  }
}

// Cosine and sine of the angles of all rows. An angle may be many turns: these are taken off in fp64, in
// units of half turns.
template <int R>
__device__ void bring_angles(const Products& p, float2 (&turn)[R][kMostAngles]) {
  constexpr double kHalfTurnsPerRadian = 0.31830988618379067154;
  for (int i = static_cast<int>(threadIdx.x); i < p.rows * p.angles; i += kThreads) {
    const int row = i / p.angles, angle = i % p.angles;
    const int b = (row + p.first_row) / p.tokens, t = (row + p.first_row) % p.tokens;
    const int position = p.token_positions != nullptr ? p.token_positions[t]
                                                      : (p.positions != nullptr ? p.positions[b] : 0) + t;
    const double half_turns = position * p.frequency[angle] * kHalfTurnsPerRadian;
    float sine, cosine;
    sincospif(static_cast<float>(half_turns - 2 * rint(half_turns / 2)), &sine, &cosine);
    turn[row][angle] = make_float2(cosine, sine);
  }
}

}  // namespace nadi::inline engines::cuda::decode
