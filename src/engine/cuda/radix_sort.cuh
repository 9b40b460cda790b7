// Sorts rows of keys, with their positions in the row, in ascending order. radix_sort.h says how.
//
//   struct Ids { __device__ std::uint32_t operator()(std::int64_t row, int i) const; ... };
//   const SortedRows sorted = sort_rows(plan, Ids{...}, {.workspace = memory, .stream = call.stream});
//   // then, on the device: sorted.keys[row * columns + i], sorted.positions[row * columns + i]
//
// The keys of the first pass are made where they are needed, by the function that is given.
#pragma once

#include "nadi/engine/cuda/device_code.cuh"
#include "nadi/engine/cuda/radix_sort.h"

namespace nadi::cuda {

struct SortedRows {
  const std::uint32_t* keys = nullptr;
  const std::uint32_t* positions = nullptr;
};

struct SortRun {
  std::byte* workspace;  // plan.bytes()
  cudaStream_t stream;
  const float* unless_zero = nullptr;  // where it is given and 0, nothing is done
};

namespace radix_sort {

inline constexpr int kThreads = RadixSortPlan::kWarps * RadixSortPlan::kLanes;
inline constexpr int kMostDigits = 1 << RadixSortPlan::kMostDigitBits;
static_assert(kMostDigits == 2 * kThreads);  // each thread adds up two digits

struct Pass {
  int columns;
  int keys_per_warp;
  int shift;
  int digits;
  const float* unless_zero;

  __device__ bool is_wanted() const { return unless_zero == nullptr || *unless_zero != 0; }
  __device__ int digit_of(std::uint32_t key) const { return static_cast<int>(key >> shift) & (digits - 1); }
};

// Keys of a pass but the first.
struct StoredKeys {
  const std::uint32_t* keys;
  const std::uint32_t* positions;
  std::int64_t columns;

  __device__ std::uint32_t operator()(std::int64_t row, int i) const { return keys[row * columns + i]; }
  __device__ std::uint32_t position(std::int64_t row, int i) const { return positions[row * columns + i]; }
};
template <class MakeKey>
struct MadeKeys {
  MakeKey make;

  __device__ std::uint32_t operator()(std::int64_t row, int i) const { return make(row, i); }
  __device__ std::uint32_t position(std::int64_t, int i) const { return static_cast<std::uint32_t>(i); }
};

using DigitCounts = std::uint32_t[RadixSortPlan::kWarps][kMostDigits];

// visit(i, key, digit, peers) for the keys of a warp in order, 32 at a time; peers are the lanes that have
// the same digit. Lanes behind the end of the row have the digit -1.
template <class Keys, class Visit>
__device__ void walk_keys(const Pass& pass, const Keys& keys, const Visit& visit) {
  const auto warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const int begin = (static_cast<int>(blockIdx.x) * RadixSortPlan::kWarps + warp) * pass.keys_per_warp;
  for (int k = 0; k < pass.keys_per_warp; k += kWarp) {
    const int i = begin + k + lane;
    const bool inside = i < pass.columns;
    const std::uint32_t key = inside ? keys(blockIdx.y, i) : 0;
    const int digit = inside ? pass.digit_of(key) : -1;
    visit(i, key, digit, __match_any_sync(kWholeWarp, digit));
    __syncwarp();
  }
}

template <class Keys>
__device__ void count_by_warp(const Pass& pass, const Keys& keys, DigitCounts& counts) {
  for (int i = static_cast<int>(threadIdx.x); i < RadixSortPlan::kWarps * kMostDigits; i += kThreads)
    counts[i / kMostDigits][i % kMostDigits] = 0;
  __syncthreads();
  const auto warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  walk_keys(pass, keys, [&](int, std::uint32_t, int digit, unsigned peers) {
    if (digit >= 0 && lane == __ffs(static_cast<int>(peers)) - 1) counts[warp][digit] += __popc(peers);
  });
  __syncthreads();
}

// counts [row, block, digit]
template <class Keys>
__global__ void __launch_bounds__(kThreads) count_digits(Pass pass, Keys keys, std::uint32_t* counts) {
  if (!pass.is_wanted()) return;
  __shared__ DigitCounts own;
  count_by_warp(pass, keys, own);
  std::uint32_t* to = counts + (std::int64_t{blockIdx.y} * gridDim.x + blockIdx.x) * pass.digits;
  for (int digit = static_cast<int>(threadIdx.x); digit < pass.digits; digit += kThreads) {
    std::uint32_t sum = 0;
    for (int warp = 0; warp < RadixSortPlan::kWarps; ++warp) sum += own[warp][digit];
    to[digit] = sum;
  }
}

// Where each warp's first key of each digit goes: behind all lower digits, and the same digit of the blocks
// and warps before.
__device__ inline void make_places(const Pass& pass, const std::uint32_t* counts_of_row,
                                   DigitCounts& places) {
  __shared__ std::uint32_t of_warps[RadixSortPlan::kWarps];
  const auto thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  std::uint32_t all[2] = {}, before[2] = {};  // keys of digits 2 * thread and the next
  if (2 * thread < pass.digits) {
#pragma unroll 8
    for (unsigned block = 0; block < gridDim.x; ++block) {
      const std::uint32_t* from = counts_of_row + std::int64_t{block} * pass.digits + 2 * thread;
      const std::uint32_t first = from[0], second = from[1];
      all[0] += first;
      all[1] += second;
      before[0] += block < blockIdx.x ? first : 0;
      before[1] += block < blockIdx.x ? second : 0;
    }
  }
  std::uint32_t sum = all[0] + all[1];  // up to this thread, in the end
  for (int offset = 1; offset < kWarp; offset *= 2) {
    const std::uint32_t other = __shfl_up_sync(kWholeWarp, sum, offset);
    if (lane >= offset) sum += other;
  }
  if (lane == kWarp - 1) of_warps[warp] = sum;
  __syncthreads();
  for (int w = 0; w < warp; ++w) sum += of_warps[w];
  if (2 * thread < pass.digits) {
    std::uint32_t place[2] = {sum - all[0] - all[1] + before[0], sum - all[1] + before[1]};
    for (int d = 0; d < 2; ++d)
      for (int w = 0; w < RadixSortPlan::kWarps; ++w) {
        const std::uint32_t own = places[w][2 * thread + d];
        places[w][2 * thread + d] = place[d];
        place[d] += own;
      }
  }
  __syncthreads();
}

template <class Keys>
__global__ void __launch_bounds__(kThreads) move_keys(Pass pass, Keys keys, const std::uint32_t* counts,
                                                      std::uint32_t* to_keys, std::uint32_t* to_positions) {
  if (!pass.is_wanted()) return;
  __shared__ DigitCounts places;
  count_by_warp(pass, keys, places);
  make_places(pass, counts + std::int64_t{blockIdx.y} * gridDim.x * pass.digits, places);
  const auto warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t row_start = std::int64_t{blockIdx.y} * pass.columns;
  walk_keys(pass, keys, [&](int i, std::uint32_t key, int digit, unsigned peers) {
    if (digit >= 0) {
      const unsigned earlier = peers & ((1U << lane) - 1);
      const std::int64_t place = row_start + places[warp][digit] + __popc(earlier);
      to_keys[place] = key;
      to_positions[place] = keys.position(blockIdx.y, i);
    }
    __syncwarp();
    if (digit >= 0 && lane == __ffs(static_cast<int>(peers)) - 1) places[warp][digit] += __popc(peers);
  });
}

}  // namespace radix_sort

template <class MakeKey>
SortedRows sort_rows(const RadixSortPlan& plan, const MakeKey& make_key, const SortRun& run) {
  using namespace radix_sort;
  auto* counts = reinterpret_cast<std::uint32_t*>(run.workspace);
  const auto array = [&](int i) {
    return reinterpret_cast<std::uint32_t*>(run.workspace + plan.count_bytes() + i * plan.array_bytes());
  };
  const dim3 grid(static_cast<unsigned>(plan.blocks()), static_cast<unsigned>(plan.rows));
  StoredKeys sorted{nullptr, nullptr, plan.columns};
  for (int p = 0; p < plan.passes(); ++p) {
    const Pass pass{.columns = static_cast<int>(plan.columns),
                    .keys_per_warp = static_cast<int>(plan.keys_per_warp()),
                    .shift = p * plan.digit_bits(),
                    .digits = plan.digits(),
                    .unless_zero = run.unless_zero};
    std::uint32_t* to_keys = array(p % 2 * 2);
    std::uint32_t* to_positions = array(p % 2 * 2 + 1);
    const auto launch = [&](const auto& keys) {
      count_digits<<<grid, kThreads, 0, run.stream>>>(pass, keys, counts);
      move_keys<<<grid, kThreads, 0, run.stream>>>(pass, keys, counts, to_keys, to_positions);
    };
    if (p == 0)
      launch(MadeKeys<MakeKey>{make_key});
    else
      launch(sorted);
    sorted.keys = to_keys;
    sorted.positions = to_positions;
  }
  return {sorted.keys, sorted.positions};
}

}  // namespace nadi::cuda
