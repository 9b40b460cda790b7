#include "nadi/cuda/strided_copy.h"

#include "nadi/cuda/cuda_error.h"
#include "nadi/cuda/device_code.cuh"

namespace nadi::inline engines::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kPerThread = 4;  // units or vectors of a contiguous copy that are under way at once

// The axes that are left when neighbours that lie one behind the other in both layouts became one; innermost
// first. Extents and strides count units.
struct Axes {
  int count = 0;
  std::int64_t extent[Shape::kMaxRank];
  std::int64_t from_stride[Shape::kMaxRank];
  std::int64_t to_stride[Shape::kMaxRank];
  std::int64_t units = 1;

  bool contiguous() const { return count == 0 || (count == 1 && from_stride[0] == 1 && to_stride[0] == 1); }
};

Axes joined_axes(const StridedCopy& copy) {
  Axes axes;
  axes.units = copy.shape.elements();
  for (int axis = copy.shape.rank() - 1; axis >= 0; --axis) {
    const auto i = static_cast<std::size_t>(axis);
    const std::int64_t extent = copy.shape[axis], from = copy.from_strides[i], to = copy.to_strides[i];
    if (extent == 1) continue;
    const int last = axes.count - 1;
    if (last >= 0 && from == axes.from_stride[last] * axes.extent[last] &&
        to == axes.to_stride[last] * axes.extent[last]) {
      axes.extent[last] *= extent;
      continue;
    }
    axes.extent[axes.count] = extent;
    axes.from_stride[axes.count] = from;
    axes.to_stride[axes.count] = to;
    ++axes.count;
  }
  return axes;
}

// Whether units of `factor` elements can be moved; if so, the axes count them from then on.
bool widen(Axes& axes, std::int64_t factor) {
  if (axes.count == 0 || axes.from_stride[0] != 1 || axes.to_stride[0] != 1 || axes.extent[0] % factor != 0)
    return false;
  for (int i = 1; i < axes.count; ++i)
    if (axes.from_stride[i] % factor != 0 || axes.to_stride[i] % factor != 0) return false;
  axes.extent[0] /= factor;
  for (int i = 1; i < axes.count; ++i) {
    axes.from_stride[i] /= factor;
    axes.to_stride[i] /= factor;
  }
  axes.units /= factor;
  return true;
}

struct Place {
  std::int64_t from = 0, to = 0;
};
// Index is 32 bits wide where that is enough: divisions are several times faster.
template <class Index>
__device__ Place place_of(const Axes& axes, Index unit) {
  Place place;
#pragma unroll
  for (int i = 0; i < Shape::kMaxRank; ++i) {
    if (i >= axes.count) break;
    const Index extent = static_cast<Index>(axes.extent[i]);
    const Index at = i + 1 < axes.count ? unit % extent : unit;
    unit /= extent;
    place.from += static_cast<std::int64_t>(at) * axes.from_stride[i];
    place.to += static_cast<std::int64_t>(at) * axes.to_stride[i];
  }
  return place;
}

template <class Unit>
__global__ void __launch_bounds__(kThreads) copy_contiguous(const Unit* from, Unit* to, std::int64_t units) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kThreads * kPerThread + threadIdx.x;
  Unit held[kPerThread];
#pragma unroll
  for (int i = 0; i < kPerThread; ++i)
    if (first + i * kThreads < units) held[i] = from[first + i * kThreads];
#pragma unroll
  for (int i = 0; i < kPerThread; ++i)
    if (first + i * kThreads < units) to[first + i * kThreads] = held[i];
}

template <class Unit, class Index>
__global__ void __launch_bounds__(kThreads)
    copy_strided(const Unit* from, Unit* to, const __grid_constant__ Axes axes) {
  const std::int64_t unit = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (unit >= axes.units) return;
  const Place place = place_of(axes, static_cast<Index>(unit));
  to[place.to] = from[place.from];
}

template <class From, class To>
__global__ void __launch_bounds__(kThreads) cast_contiguous(const From* from, To* to, std::int64_t elements) {
  constexpr int kVector = 8;  // of two loads where elements have four bytes
  constexpr int kFrom = 16 / sizeof(From) < kVector ? 16 / sizeof(From) : kVector;
  constexpr int kTo = 16 / sizeof(To) < kVector ? 16 / sizeof(To) : kVector;
  const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kVector;
  if (first + kVector <= elements) {
    float values[kVector];
#pragma unroll
    for (int part = 0; part < kVector; part += kFrom) {
      const auto loaded = load_vector<From, kFrom>(from + first + part);
#pragma unroll
      for (int i = 0; i < kFrom; ++i) values[part + i] = loaded.at(i);
    }
#pragma unroll
    for (int part = 0; part < kVector; part += kTo) {
      Vector<To, kTo> stored;
#pragma unroll
      for (int i = 0; i < kTo; ++i) stored.set(i, values[part + i]);
      store_vector(to + first + part, stored);
    }
  } else {
    for (std::int64_t i = first; i < elements; ++i) to[i] = from_float<To>(to_float(from[i]));
  }
}

// Any two types of floating-point numbers and any layout.
struct AnyCopy {
  const void* from;
  void* to;
  DType from_dtype, to_dtype;
  bool accumulate;
};
__global__ void __launch_bounds__(kThreads) cast_strided(AnyCopy copy, const __grid_constant__ Axes axes) {
  const std::int64_t element = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (element >= axes.units) return;
  const Place place = place_of(axes, static_cast<std::uint64_t>(element));
  float value = load_as_float(copy.from, copy.from_dtype, place.from);
  if (copy.accumulate) value += load_as_float(copy.to, copy.to_dtype, place.to);
  store_float(copy.to, copy.to_dtype, place.to, value);
}

template <class Unit>
void copy_units(cudaStream_t stream, const StridedCopy& copy, const Axes& axes) {
  const auto* from = reinterpret_cast<const Unit*>(copy.from);
  auto* to = reinterpret_cast<Unit*>(copy.to);
  if (axes.contiguous())
    copy_contiguous<<<blocks_for(axes.units, kThreads * kPerThread), kThreads, 0, stream>>>(from, to,
                                                                                            axes.units);
  else if (axes.units <= INT32_MAX)
    copy_strided<Unit, std::uint32_t>
        <<<blocks_for(axes.units, kThreads), kThreads, 0, stream>>>(from, to, axes);
  else
    copy_strided<Unit, std::uint64_t>
        <<<blocks_for(axes.units, kThreads), kThreads, 0, stream>>>(from, to, axes);
}

void copy_same_type(cudaStream_t stream, const StridedCopy& copy, Axes& axes) {
  std::int64_t unit = size_of(copy.from_dtype);
  while (unit < 16 && is_aligned(copy.from, 2 * unit) && is_aligned(copy.to, 2 * unit) && widen(axes, 2))
    unit *= 2;
  switch (unit) {
    case 16:
      return copy_units<uint4>(stream, copy, axes);
    case 8:
      return copy_units<std::uint64_t>(stream, copy, axes);
    case 4:
      return copy_units<std::uint32_t>(stream, copy, axes);
    case 2:
      return copy_units<std::uint16_t>(stream, copy, axes);
    default:
      return copy_units<std::uint8_t>(stream, copy, axes);
  }
}

void enqueue_copy(cudaStream_t stream, const StridedCopy& copy) {
  Axes axes = joined_axes(copy);
  if (axes.units == 0) return;
  const bool same_type = copy.from_dtype == copy.to_dtype;
  if (same_type && !copy.accumulate) {
    copy_same_type(stream, copy, axes);
  } else if (axes.contiguous() && !copy.accumulate && is_aligned(copy.from, 16) && is_aligned(copy.to, 16)) {
    with_type(copy.from_dtype, [&](auto from_tag) {
      with_type(copy.to_dtype, [&](auto to_tag) {
        using From = typename decltype(from_tag)::type;
        using To = typename decltype(to_tag)::type;
        cast_contiguous<<<blocks_for(axes.units, kThreads * 8), kThreads, 0, stream>>>(
            reinterpret_cast<const From*>(copy.from), reinterpret_cast<To*>(copy.to), axes.units);
      });
    });
  } else {
    check(is_floating(copy.from_dtype) && is_floating(copy.to_dtype),
          "integers are copied to the same type only, and not added");
    cast_strided<<<blocks_for(axes.units, kThreads), kThreads, 0, stream>>>({.from = copy.from,
                                                                             .to = copy.to,
                                                                             .from_dtype = copy.from_dtype,
                                                                             .to_dtype = copy.to_dtype,
                                                                             .accumulate = copy.accumulate},
                                                                            axes);
  }
}

}  // namespace

void strided_copy(const KernelCall& call, const StridedCopy& copy) {
  enqueue_copy(call.stream, copy);
  check_launch(call);
}

void strided_copy(cudaStream_t stream, const StridedCopy& copy) {
  enqueue_copy(stream, copy);
  check_cuda(cudaGetLastError(), "strided copy");
}

}  // namespace nadi::inline engines::cuda
