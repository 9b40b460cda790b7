// Device code that kernels share: elements in registers and in memory, sums over a warp and a block.
//
//   with_type(dtype, [&](auto tag) { using T = typename decltype(tag)::type; kernel<T><<<...>>>(...); });
//
// Elements are loaded and stored four, or eight, at a time (Vector<T, N>) where addresses allow it.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "nadi/base/error.h"
#include "nadi/graph/dtype.h"

namespace nadi::inline engines::cuda {

template <class T>
struct TypeTag {
  using type = T;
};

// Calls with the tag of the element type: float, __nv_bfloat16 or __half.
template <class F>
decltype(auto) with_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF32:
      return f(TypeTag<float>{});
    case DType::kBF16:
      return f(TypeTag<__nv_bfloat16>{});
    case DType::kF16:
      return f(TypeTag<__half>{});
    default:
      check(false, "a kernel is given elements of a type that it does not have");
      return f(TypeTag<float>{});
  }
}

__device__ inline float to_float(float x) {
  return x;
}
__device__ inline float to_float(__nv_bfloat16 x) {
  return __bfloat162float(x);
}
__device__ inline float to_float(__half x) {
  return __half2float(x);
}
template <class T>
__device__ inline T from_float(float x);
template <>
__device__ inline float from_float<float>(float x) {
  return x;
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}
template <>
__device__ inline __half from_float<__half>(float x) {
  return __float2half_rn(x);
}

// N elements that one thread loads and stores at once: 4, 8 or 16 bytes.
template <class T, int N>
struct alignas(sizeof(T) * N) Vector {
  T elements[N];

  __device__ float at(int i) const { return to_float(elements[i]); }
  __device__ void set(int i, float x) { elements[i] = from_float<T>(x); }
};

template <class T, int N>
__device__ inline Vector<T, N> load_vector(const T* from) {
  return *reinterpret_cast<const Vector<T, N>*>(from);
}
template <class T, int N>
__device__ inline void store_vector(T* to, const Vector<T, N>& values) {
  *reinterpret_cast<Vector<T, N>*>(to) = values;
}

// An element of a type that is known only when the kernel runs: the same branch for all threads.
__device__ inline float load_as_float(const void* data, DType dtype, std::int64_t i) {
  switch (dtype) {
    case DType::kBF16:
      return to_float(static_cast<const __nv_bfloat16*>(data)[i]);
    case DType::kF16:
      return to_float(static_cast<const __half*>(data)[i]);
    default:
      return static_cast<const float*>(data)[i];
  }
}
__device__ inline void store_float(void* data, DType dtype, std::int64_t i, float x) {
  switch (dtype) {
    case DType::kBF16:
      static_cast<__nv_bfloat16*>(data)[i] = from_float<__nv_bfloat16>(x);
      break;
    case DType::kF16:
      static_cast<__half*>(data)[i] = from_float<__half>(x);
      break;
    default:
      static_cast<float*>(data)[i] = x;
  }
}

inline constexpr unsigned kWholeWarp = 0xffffffffU;
inline constexpr int kWarp = 32;

// Over all threads of a warp, the same result in each.
__device__ inline float warp_sum(float x) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) x += __shfl_xor_sync(kWholeWarp, x, offset);
  return x;
}
__device__ inline float warp_max(float x) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) x = fmaxf(x, __shfl_xor_sync(kWholeWarp, x, offset));
  return x;
}

// Over all threads of a block of whole warps, the same result in each. `scratch`: 32 floats of shared memory,
// which may be used again at once.
__device__ inline float block_sum(float x, float* scratch) {
  x = warp_sum(x);
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  __syncthreads();
  if (lane == 0) scratch[warp] = x;
  __syncthreads();
  return warp_sum(lane < warps ? scratch[lane] : 0.0F);
}
__device__ inline float block_max(float x, float* scratch) {
  x = warp_max(x);
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  __syncthreads();
  if (lane == 0) scratch[warp] = x;
  __syncthreads();
  return warp_max(lane < warps ? scratch[lane] : -INFINITY);
}

// With programmatic dependent launch a kernel begins while the one before it ends: it says that the next may
// begin, and waits before it reads what kernels before have written. GPUs before Hopper have none of it: there
// a kernel begins when the one before is done.
__device__ inline void let_next_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}
__device__ inline void wait_for_kernels_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

inline bool is_aligned(const void* address, std::int64_t bytes) {
  return reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(bytes) == 0;
}

inline unsigned blocks_for(std::int64_t work, std::int64_t per_block) {
  return static_cast<unsigned>((work + per_block - 1) / per_block);
}

}  // namespace nadi::inline engines::cuda
