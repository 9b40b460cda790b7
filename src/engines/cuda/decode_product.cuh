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

#include "nadi/cuda/decode_rows.cuh"
#include "nadi/cuda/gelu_value.cuh"

namespace nadi::inline engines::cuda::decode {

inline constexpr int kLoads = 4;  // of 16 bytes, that a lane has under way for one output of a piece

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
  __shared__ float scales[R];
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
        if (lane == r) mine[j] = sum * scales[r];
        sums[j][r] = 0;
      }
    if (lane < p.rows) finish(p, unit_at<T>(p, unit), lane, turn[lane < R ? lane : 0], mine[0], mine[1]);
  };

  Weights<T, V> even[2][kLoads], odd[2][kLoads];
  find_weights();
  load(even);
  load(odd);
  // Weights and positions do not depend on the kernel before; x does. The kernel after this one may begin as
  // soon as there is room for it.
  let_next_begin();
  prefetch_norm<T, V>(p.norm, p.k);
  bring_angles<R>(p, turn);
  prefetch_caches(p);
  wait_for_kernels_before();
  bring_rows<T, V, R, true>(p, x, scratch, scales);
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
  __shared__ float scales[R];
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
  let_next_begin();
  prefetch_norm<T, V>(p.norm, p.k);
  wait_for_kernels_before();
  bring_rows<T, V, R, false>(p, x, scratch, scales);
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
      store_result(p, q, n, row, activated(q.activation, finished_sum(q, n, row, sum * scales[row])));
    }
    __syncthreads();
  }
}

}  // namespace nadi::inline engines::cuda::decode
