// 16 bytes of elements that stay in four registers until they are computed with. (Of a Vector that is held
// for a while the compiler keeps each 16-bit element in a register of its own.)
#pragma once

#include <type_traits>

#include "nadi/cuda/device_code.cuh"

namespace nadi::inline engines::cuda {

template <class T>
struct Packed {
  static constexpr int kElements = 16 / sizeof(T);
  std::uint32_t words[4];

  __device__ float at(int i) const {
    if constexpr (sizeof(T) == 4)
      return __uint_as_float(words[i]);
    else if constexpr (std::is_same_v<T, __nv_bfloat16>)
      return __uint_as_float(i % 2 == 0 ? words[i / 2] << 16 : words[i / 2] & 0xffff0000U);
    else
      return __half2float(__ushort_as_half(static_cast<unsigned short>(words[i / 2] >> (i % 2 * 16))));
  }
  // Elements 2 i and 2 i + 1 of 16 bits.
  __device__ void set_pair(int i, float low, float high) {
    if constexpr (std::is_same_v<T, __nv_bfloat16>) {
      const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
      words[i] = *reinterpret_cast<const std::uint32_t*>(&pair);
    } else {
      const __half2 pair = __floats2half2_rn(low, high);
      words[i] = *reinterpret_cast<const std::uint32_t*>(&pair);
    }
  }
};

template <class T>
__device__ inline Packed<T> load_packed(const T* from) {
  const uint4 words = *reinterpret_cast<const uint4*>(from);
  return {{words.x, words.y, words.z, words.w}};
}

// Rounds to the nearest.
template <class T>
__device__ inline Packed<T> packed(const float (&values)[Packed<T>::kElements]) {
  Packed<T> result;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (sizeof(T) == 4)
      result.words[i] = __float_as_uint(values[i]);
    else
      result.set_pair(i, values[2 * i], values[2 * i + 1]);
  }
  return result;
}

template <class T>
__device__ inline void store_packed(T* to, const Packed<T>& values) {
  *reinterpret_cast<uint4*>(to) = uint4{values.words[0], values.words[1], values.words[2], values.words[3]};
}

}  // namespace nadi::inline engines::cuda
