// Device code of products with few rows: y = finish(norm(x) W^T), of up to three matrices W at once.
//
// Letters: R rows of x that are computed together, k the inner extent, n outputs of a matrix. A block brings
// its rows of x to shared memory as fp32, normalised where that is asked for: every block does that again,
// which is cheaper than a kernel of its own. Then warps stream weights.
//
// Weights [n, k]: a warp computes two outputs at a time (a unit): two neighbours, the two that a rotation of
// a head turns, or the same output of two gated matrices. Its loads for the next piece of weights are under
// way while it computes on one. Weights [k, n]: a block computes some columns, its warps share k.
//
// Sums are taken in an order that depends on the shapes and the grid alone.
#pragma once

#include <type_traits>

#include "nadi/engine/cuda/device_code.cuh"
#include "nadi/engine/cuda/gelu_value.cuh"
#include "nadi/graph/ops/matmul.h"

namespace nadi::cuda::decode {

inline constexpr int kThreads = 256, kWarps = kThreads / kWarp;
inline constexpr int kMostProducts = 3;
inline constexpr int kMostRows = 8;
inline constexpr int kMostAngles = 128;  // half the width of a head
inline constexpr int kLoads = 4;         // of 16 bytes, that a lane has under way for one output

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

// What a lane loads at once of the weights, as bits until it is used: fewer registers than elements would
// take. Read once, so it need not stay in the L1 cache.
template <class T, int V>
struct Weights {
  static constexpr int kWords = sizeof(T) * V / 4;
  std::uint32_t words[kWords];

  __device__ void load(const T* from) {
    static_assert(kWords == 4);
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
        : "l"(from));
  }
  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < kWords; ++i) words[i] = 0;
  }
  __device__ float at(int i) const {
    if constexpr (std::is_same_v<T, float>) {
      return __uint_as_float(words[i]);
    } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
      return __uint_as_float(i % 2 == 0 ? words[i / 2] << 16 : words[i / 2] & 0xffff0000U);
    } else {
      const auto bits = static_cast<unsigned short>(i % 2 == 0 ? words[i / 2] & 0xffffU : words[i / 2] >> 16);
      return __half2float(__ushort_as_half(bits));
    }
  }
};
template <class T>
struct Weights<T, 1> {
  T element;

  __device__ void load(const T* from) { element = *from; }
  __device__ void clear() { element = from_float<T>(0.0F); }
  __device__ float at(int) const { return to_float(element); }
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

// Rows of x, normalised, to shared memory; zeros up to padded_k and for rows that are not there. A thread
// comes back to its own elements only, until the block meets at the end.
template <class T, int V, int R, bool kInterleaved>
__device__ void bring_rows(const Products& p, float* x, float* scratch) {
  const auto first = static_cast<std::int64_t>(threadIdx.x) * V;
  constexpr std::int64_t kStep = std::int64_t{kThreads} * V;
  const bool plain_weight = is_vector_of<T, V>(p.norm.weight, p.norm.weight_dtype);
  const bool plain_bias = is_vector_of<T, V>(p.norm.bias, p.norm.bias_dtype);
  for (int r = 0; r < R; ++r) {
    float* to = x + r * p.padded_k;
    float sum = 0;
    for (std::int64_t k = first; k < p.padded_k; k += kStep) {
      float values[V] = {};
      if (r < p.rows && k < p.k) {
        const Vector<T, V> loaded = load_vector<T, V>(static_cast<const T*>(p.x) + r * p.x_stride + k);
#pragma unroll
        for (int i = 0; i < V; ++i) {
          values[i] = loaded.at(i);
          sum += p.norm.kind == NormKind::kRms ? values[i] * values[i] : values[i];
        }
      }
      put_values<V, kInterleaved>(to, k, values);
    }
    if (p.norm.kind == NormKind::kNone || r >= p.rows) continue;
    float mean = 0, square = block_sum(sum, scratch) / static_cast<float>(p.k);
    if (p.norm.kind == NormKind::kLayer) {
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
    for (std::int64_t k = first; k < p.k; k += kStep) {
      float values[V], weight[V], bias[V] = {};
      get_values<V, kInterleaved>(to, k, values);
      get_weights<T, V>(p.norm.weight, p.norm.weight_dtype, plain_weight, k, weight);
      if (p.norm.bias != nullptr) get_weights<T, V>(p.norm.bias, p.norm.bias_dtype, plain_bias, k, bias);
#pragma unroll
      for (int i = 0; i < V; ++i) values[i] = (values[i] - mean) * reciprocal * weight[i] + bias[i];
      put_values<V, kInterleaved>(to, k, values);
      if (blockIdx.x == 0 && p.norm.y != nullptr) {
        Vector<T, V> rounded;
#pragma unroll
        for (int i = 0; i < V; ++i) rounded.set(i, values[i]);
        store_vector<T, V>(static_cast<T*>(p.norm.y) + r * p.norm.y_stride + k, rounded);
      }
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
      if (p.norm.mean != nullptr) p.norm.mean[r] = mean;
      if (p.norm.reciprocal != nullptr) p.norm.reciprocal[r] = reciprocal;
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

// The value of an output before activation, rotation or gate.
__device__ inline float finished_sum(const OneProduct& q, std::int64_t n, int row, float sum) {
  float value = q.alpha * sum;
  if (q.bias != nullptr) value += load_as_float(q.bias, q.bias_dtype, n);
  if (q.product != nullptr) store_float(q.product, q.y_dtype, row * q.product_stride + n, value);
  return value;
}
__device__ inline void store_result(const Products& p, const OneProduct& q, std::int64_t n, int row,
                                    float value) {
  if (q.summand != nullptr) value += load_as_float(q.summand, q.summand_dtype, row * q.summand_stride + n);
  const std::int64_t at = row * q.y_stride + n;
  if (q.accumulate) value += load_as_float(q.y, q.y_dtype, at);
  if (q.y != nullptr) store_float(q.y, q.y_dtype, at, value);
  if (q.cache == nullptr) return;
  const int b = (row + p.first_row) / p.tokens, t = (row + p.first_row) % p.tokens;
  const std::int64_t position = (q.cache_positions != nullptr ? q.cache_positions[b] : 0) + t;
  if (position >= 0 && position < q.cache_rows)
    store_float(q.cache, q.cache_dtype, (b * q.cache_rows + position) * q.n + n, value);
}

// Two outputs that a warp computes together; the second may be absent (n = -1).
template <class T>
struct Unit {
  int product = 0;  // of the first, and of the second if the products are not gated
  std::int64_t n[2];
  const T* weights[2];
};
template <class T>
__device__ inline Unit<T> unit_at(const Products& p, int u) {
  Unit<T> unit;
  if (p.gate >= 0) {
    unit.n[0] = unit.n[1] = u;
    for (int i = 0; i < 2; ++i)
      unit.weights[i] = static_cast<const T*>(p.product[i].weights) + u * p.product[i].leading;
    return unit;
  }
  for (int q = 1; q < p.count; ++q)
    if (u >= p.product[q].first_unit) unit.product = q;
  const OneProduct& q = p.product[unit.product];
  const int local = u - static_cast<int>(q.first_unit);
  if (q.half > 0) {
    unit.n[0] = local / q.half * 2 * q.half + local % q.half;
    unit.n[1] = unit.n[0] + q.half;
  } else {
    unit.n[0] = 2 * local;
    unit.n[1] = unit.n[0] + 1 < q.n ? unit.n[0] + 1 : -1;
  }
  for (int i = 0; i < 2; ++i)
    unit.weights[i] = static_cast<const T*>(q.weights) + max(unit.n[i], unit.n[0]) * q.leading;
  return unit;
}

template <class T>
__device__ inline void finish(const Products& p, const Unit<T>& unit, int row, const float2* turn,
                              float first, float second) {
  if (p.gate >= 0) {
    const float v0 = finished_sum(p.product[0], unit.n[0], row, first);
    const float v1 = finished_sum(p.product[1], unit.n[1], row, second);
    const float gate = p.gate == 0 ? v0 : v1, up = p.gate == 0 ? v1 : v0;
    store_result(p, p.product[0], unit.n[0], row, gate / (1.0F + __expf(-gate)) * up);
    return;
  }
  const OneProduct& q = p.product[unit.product];
  float v0 = finished_sum(q, unit.n[0], row, first);
  float v1 = unit.n[1] < 0 ? 0.0F : finished_sum(q, unit.n[1], row, second);
  if (q.half > 0) {
    const float2 cs = turn[unit.n[0] % (2 * q.half)];
    const float low = v0, high = v1;
    v0 = low * cs.x - high * cs.y;
    v1 = high * cs.x + low * cs.y;
  }
  store_result(p, q, unit.n[0], row, activated(q.activation, v0));
  if (unit.n[1] >= 0) store_result(p, q, unit.n[1], row, activated(q.activation, v1));
}

// Weights [n, k]. A warp goes over pieces: so many of k of a unit, then of the next unit. Two pieces are
// under way at any time; what comes back is used in the order in which it was asked for.
template <class T, int V, int R>
__global__ void __launch_bounds__(kThreads, R == 1 ? 2 : 1)
    products_by_rows(const __grid_constant__ Products p) {
  extern __shared__ __align__(16) float x[];
  __shared__ float scratch[kWarp];
  __shared__ float2 turn[R][kMostAngles];
  constexpr int kPiece = kWarp * V * kLoads;
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int k_end = static_cast<int>(p.k), units = static_cast<int>(p.units);
  const int step = kWarps * static_cast<int>(gridDim.x);

  // Each block has as many units as any other, or one less.
  struct Place {
    int unit, k;
  };
  const auto advance = [&](Place& place) {
    place.k += kPiece;
    if (place.k < k_end) return false;
    place = {place.unit + step, 0};
    return true;
  };
  Place loaded{warp * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x), 0};
  Place used = loaded;
  const T* weights[2] = {};
  const auto find_weights = [&] {
    if (loaded.unit >= units) return;
    const Unit<T> unit = unit_at<T>(p, loaded.unit);
    weights[0] = unit.weights[0] + lane * V;
    weights[1] = unit.weights[1] + lane * V;
  };
  const auto load = [&](Weights<T, V>(&w)[2][kLoads]) {
    if (loaded.unit >= units) return;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int at = loaded.k + i * kWarp * V;
#pragma unroll
      for (int j = 0; j < 2; ++j)
        if (at + lane * V < k_end)
          w[j][i].load(weights[j] + at);
        else
          w[j][i].clear();
    }
    if (advance(loaded)) find_weights();
  };
  float sums[2][R] = {};
  const auto use = [&](const Weights<T, V>(&w)[2][kLoads]) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
#pragma unroll
      for (int r = 0; r < R; ++r) {
        float values[V];
        get_values<V, true>(x + r * p.padded_k, used.k + i * kWarp * V + lane * V, values);
#pragma unroll
        for (int e = 0; e < V; ++e) {
          sums[0][r] += w[0][i].at(e) * values[e];
          sums[1][r] += w[1][i].at(e) * values[e];
        }
      }
    const int unit = used.unit;
    if (!advance(used)) return;
    float mine[2] = {};
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const float sum = warp_sum(sums[j][r]);
        if (lane == r) mine[j] = sum;
        sums[j][r] = 0;
      }
    if (lane < p.rows) finish(p, unit_at<T>(p, unit), lane, turn[lane < R ? lane : 0], mine[0], mine[1]);
  };

  Weights<T, V> even[2][kLoads], odd[2][kLoads];
  find_weights();
  load(even);
  load(odd);
  // Weights do not depend on the kernel before; x does. The kernel after this one may begin as soon as there
  // is room for it.
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
  bring_rows<T, V, R, true>(p, x, scratch);
  bring_angles<R>(p, turn);
  __syncthreads();
  while (used.unit < units) {
    use(even);
    load(even);
    if (used.unit >= units) break;
    use(odd);
    load(odd);
  }
}

inline constexpr int kColumnLoads = 8;  // of a lane, under way, where weights are [k, n]

// Weights [k, n]. A unit is a tile of p.lanes * V columns; the threads of a block share k.
template <class T, int V, int R>
__global__ void __launch_bounds__(kThreads, R == 1 ? 2 : 1)
    products_by_columns(const __grid_constant__ Products p) {
  extern __shared__ __align__(16) float x[];
  __shared__ float scratch[kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int tile = p.lanes * V;
  float* partial = x + R * p.padded_k;  // [kWarps][R][tile]
  const int column_of_lane = static_cast<int>(threadIdx.x) % p.lanes * V;
  const int first_k = static_cast<int>(threadIdx.x) / p.lanes, threads_k = kThreads / p.lanes;

  const auto product_at = [&](std::int64_t u) {
    int q = 0;
    for (int i = 1; i < p.count; ++i)
      if (u >= p.product[i].first_unit) q = i;
    return q;
  };
  Weights<T, V> w[kColumnLoads];
  const auto load = [&](std::int64_t u, std::int64_t from_k) {
    const OneProduct& q = p.product[product_at(u)];
    const std::int64_t column = (u - q.first_unit) * tile + column_of_lane;
#pragma unroll
    for (int i = 0; i < kColumnLoads; ++i) {
      const std::int64_t k = from_k + first_k + std::int64_t{i} * threads_k;
      if (k < p.k && column < q.n)
        w[i].load(static_cast<const T*>(q.weights) + k * q.leading + column);
      else
        w[i].clear();
    }
  };
  if (blockIdx.x < p.units) load(blockIdx.x, 0);
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
  bring_rows<T, V, R, false>(p, x, scratch);
  __syncthreads();

  const std::int64_t piece = std::int64_t{threads_k} * kColumnLoads;
  for (std::int64_t u = blockIdx.x; u < p.units; u += gridDim.x) {
    float sums[R][V] = {};
    for (std::int64_t first = 0; first < p.k; first += piece) {
      if (first > 0 || u != blockIdx.x) load(u, first);
#pragma unroll
      for (int i = 0; i < kColumnLoads; ++i) {
        const std::int64_t k = first + first_k + std::int64_t{i} * threads_k;
        if (k >= p.k) continue;
#pragma unroll
        for (int r = 0; r < R; ++r) {
          const float factor = x[r * p.padded_k + k];
#pragma unroll
          for (int e = 0; e < V; ++e) sums[r][e] += factor * w[i].at(e);
        }
      }
    }
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int e = 0; e < V; ++e) {
        for (int offset = kWarp / 2; offset >= p.lanes; offset /= 2)
          sums[r][e] += __shfl_xor_sync(kWholeWarp, sums[r][e], offset);
        if (lane < p.lanes) partial[(warp * R + r) * tile + column_of_lane + e] = sums[r][e];
      }
    __syncthreads();
    const OneProduct& q = p.product[product_at(u)];
    for (int i = static_cast<int>(threadIdx.x); i < p.rows * tile; i += kThreads) {
      const int row = i / tile;
      const std::int64_t n = (u - q.first_unit) * tile + i % tile;
      if (n >= q.n) continue;
      float sum = 0;
      for (int j = 0; j < kWarps; ++j) sum += partial[(j * R + row) * tile + i % tile];
      store_result(p, q, n, row, activated(q.activation, finished_sum(q, n, row, sum)));
    }
    __syncthreads();
  }
}

}  // namespace nadi::cuda::decode
