#include "nadi/cuda/plain_product.h"

#include <algorithm>

#include "nadi/cuda/activation_math.cuh"
#include "nadi/cuda/gelu_value.cuh"
#include "nadi/cuda/packed.cuh"

namespace nadi::inline engines::cuda {
namespace {

constexpr int kTile = 16;

__device__ std::int64_t place(const Axes& axes, std::int64_t i) {
  std::int64_t offset = 0;
  for (int axis = axes.count - 1; axis >= 0; --axis) {
    offset += i % axes.extents[axis] * axes.strides[axis];
    i /= axes.extents[axis];
  }
  return offset;
}

__device__ float element(const PlainMatrices& x, std::int64_t batch, std::int64_t row, std::int64_t column) {
  return load_as_float(x.data, x.dtype,
                       place(x.batches, batch) + place(x.rows, row) + column * x.column_stride);
}
__device__ void set_element(const PlainMatrices& x, std::int64_t batch, std::int64_t row, std::int64_t column,
                            float value) {
  store_float(x.data, x.dtype, place(x.batches, batch) + place(x.rows, row) + column * x.column_stride,
              value);
}

// A block computes a tile of the result; a thread one element of it.
__global__ void __launch_bounds__(kTile* kTile)
    plain_product(const __grid_constant__ PlainProduct p, std::int64_t tiles_n, std::int64_t tiles_m) {
  __shared__ float a[kTile][kTile + 1], b[kTile][kTile + 1];
  const std::int64_t tile = blockIdx.x;
  const std::int64_t j = tile % tiles_n * kTile + threadIdx.x;
  const std::int64_t i = tile / tiles_n % tiles_m * kTile + threadIdx.y;
  const std::int64_t batch = tile / tiles_n / tiles_m;
  const std::int64_t first_i = i - threadIdx.y, first_j = j - threadIdx.x;
  float sum = 0;
  for (std::int64_t first = 0; first < p.k; first += kTile) {
    const std::int64_t x = first + threadIdx.x, y = first + threadIdx.y;
    // Neighbouring threads read neighbouring columns in memory, whatever is transposed.
    if (p.transpose_a) {
      const std::int64_t row = first_i + threadIdx.x;
      a[threadIdx.x][threadIdx.y] = row < p.m && y < p.k ? element(p.a, batch, y, row) : 0.0F;
    } else {
      a[threadIdx.y][threadIdx.x] = i < p.m && x < p.k ? element(p.a, batch, i, x) : 0.0F;
    }
    if (p.transpose_b) {
      const std::int64_t column = first_j + threadIdx.y;
      b[threadIdx.x][threadIdx.y] = column < p.n && x < p.k ? element(p.b, batch, column, x) : 0.0F;
    } else {
      b[threadIdx.y][threadIdx.x] = j < p.n && y < p.k ? element(p.b, batch, y, j) : 0.0F;
    }
    __syncthreads();
#pragma unroll
    for (int q = 0; q < kTile; ++q) sum += a[threadIdx.y][q] * b[q][threadIdx.x];
    __syncthreads();
  }
  if (i >= p.m || j >= p.n) return;
  float x = p.alpha * sum;
  if (p.bias != nullptr) x += load_as_float(p.bias, p.bias_dtype, j);
  if (p.summand.data != nullptr) x += element(p.summand, batch, i, j);
  set_element(p.y, batch, i, j, x);
}

constexpr int kPassThreads = 256;
constexpr int kPassVectors = 2;  // that a thread has under way

// For elements that lie one after the other, whole vectors of 16 bytes.
template <class T, class Form>
__global__ void __launch_bounds__(kPassThreads) activate_vectors(const T* from, T* to, std::int64_t vectors) {
  constexpr int kWide = Packed<T>::kElements;
  const std::int64_t first = std::int64_t{blockIdx.x} * kPassThreads * kPassVectors + threadIdx.x;
  Packed<T> x[kPassVectors];
#pragma unroll
  for (int v = 0; v < kPassVectors; ++v)
    if (first + v * kPassThreads < vectors) x[v] = load_packed(from + (first + v * kPassThreads) * kWide);
#pragma unroll
  for (int v = 0; v < kPassVectors; ++v) {
    if (first + v * kPassThreads >= vectors) return;
    float y[kWide];
#pragma unroll
    for (int i = 0; i < kWide; ++i) y[i] = Form::template value<sizeof(T) == 4>(x[v].at(i));
    store_packed(to + (first + v * kPassThreads) * kWide, packed<T>(y));
  }
}

// N elements per thread and step; a block goes along rows.
template <class T, int N>
__global__ void __launch_bounds__(kPassThreads)
    bias_activation_pass(const __grid_constant__ BiasActivation p) {
  const auto* from = static_cast<const T*>(p.x);
  auto* to = static_cast<T*>(p.y);
  auto* before = static_cast<T*>(p.pre_activation);
  const std::int64_t column = (std::int64_t{blockIdx.x} * kPassThreads + threadIdx.x) * N;
  if (column >= p.columns) return;
  float bias[N];
#pragma unroll
  for (int i = 0; i < N; ++i)
    bias[i] = p.bias == nullptr ? 0.0F : load_as_float(p.bias, p.bias_dtype, column + i);
  for (std::int64_t row = blockIdx.y; row < p.rows; row += gridDim.y) {
    const std::int64_t at = row * p.row_stride + column;
    Vector<T, N> x = load_vector<T, N>(from + at);
#pragma unroll
    for (int i = 0; i < N; ++i) x.set(i, x.at(i) + bias[i]);
    if (before != nullptr) store_vector<T, N>(before + at, x);
#pragma unroll
    for (int i = 0; i < N; ++i) x.set(i, activated_as<T>(p.activation, x.at(i)));
    store_vector<T, N>(to + at, x);
  }
}

}  // namespace

void launch_plain_product(const PlainProduct& product, cudaStream_t stream) {
  const std::int64_t tiles_n = (product.n + kTile - 1) / kTile, tiles_m = (product.m + kTile - 1) / kTile;
  const std::int64_t tiles = tiles_n * tiles_m * product.batches;
  check(tiles < std::int64_t{1} << 31, "a matrix product has too many tiles");
  plain_product<<<static_cast<unsigned>(tiles), dim3(kTile, kTile), 0, stream>>>(product, tiles_n, tiles_m);
}

void launch_bias_activation(const BiasActivation& p, int multiprocessors, cudaStream_t stream) {
  with_type(p.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int kWide = 16 / static_cast<int>(sizeof(T));
    const bool aligned = is_aligned(p.x, 16) && is_aligned(p.y, 16) &&
                         (p.pre_activation == nullptr || is_aligned(p.pre_activation, 16));
    // Rows without gaps are one.
    if (aligned && p.bias == nullptr && p.pre_activation == nullptr && p.row_stride == p.columns &&
        p.rows * p.columns % kWide == 0) {
      const std::int64_t vectors = p.rows * p.columns / kWide;
      with_activation(p.activation, [&](auto form) {
        activate_vectors<T, decltype(form)>
            <<<blocks_for(vectors, kPassThreads * kPassVectors), kPassThreads, 0, stream>>>(
                static_cast<const T*>(p.x), static_cast<T*>(p.y), vectors);
      });
      return;
    }
    const bool wide = aligned && p.columns % kWide == 0 && p.row_stride % kWide == 0;
    const std::int64_t per_block = std::int64_t{kPassThreads} * (wide ? kWide : 1);
    const unsigned across = blocks_for(p.columns, per_block);
    // About eight blocks per multiprocessor, each for several rows: the bias is then read once.
    const std::int64_t down = std::max<std::int64_t>(1, std::int64_t{multiprocessors} * 8 / across);
    const dim3 grid(across, static_cast<unsigned>(std::min({down, p.rows, std::int64_t{65535}})));
    if (wide)
      bias_activation_pass<T, kWide><<<grid, kPassThreads, 0, stream>>>(p);
    else
      bias_activation_pass<T, 1><<<grid, kPassThreads, 0, stream>>>(p);
  });
}

}  // namespace nadi::inline engines::cuda
