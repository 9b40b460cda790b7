// Sorts rows of keys, with their positions in the row, in ascending order. radix_sort.h says how.
//
//   struct Ids { __device__ std::uint32_t operator()(std::int64_t row, int i) const; ... };
//   const SortedRows sorted = sort_rows(plan, Ids{...}, {.workspace = memory, .stream = call.stream});
//   // then, on the device: sorted.keys[row * columns + i], sorted.positions[row * columns + i]
//
// The keys of the first pass are made where they are needed, by the function that is given.
#pragma once

#include "nadi/cuda/device_code.cuh"
#include "nadi/cuda/radix_sort.h"

namespace nadi::inline engines::cuda {

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
static_assert(kMostDigits <= kThreads);  // each thread adds up one digit

struct Pass {
  int columns;
  int keys_per_warp;
  int shift;
  int digit_bits;
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

// visit({key, position}, digit, peers) for the keys of a warp in order, 32 at a time; peers are the lanes
// that have the same digit. Lanes behind the end of the row have the digit -1.
struct Entry {
  std::uint32_t key;
  std::uint32_t position;
};
template <class Keys, class Visit>
__device__ void walk_keys(const Pass& pass, const Keys& keys, const Visit& visit) {
  constexpr int kInFlight = 8;
  const auto warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const int begin = (static_cast<int>(blockIdx.x) * RadixSortPlan::kWarps + warp) * pass.keys_per_warp;
  const int end = min(begin + pass.keys_per_warp, pass.columns);
  for (int k = begin; k < end; k += kInFlight * kWarp) {
    Entry own[kInFlight];
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      const int i = k + j * kWarp + lane;
      own[j] = i < end ? Entry{keys(blockIdx.y, i), keys.position(blockIdx.y, i)} : Entry{};
    }
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      if (k + j * kWarp >= end) break;
      const bool inside = k + j * kWarp + lane < end;
      const int digit = inside ? pass.digit_of(own[j].key) : -1;
      unsigned peers = __ballot_sync(kWholeWarp, inside);
      for (int bit = 0; bit < pass.digit_bits; ++bit) {
        const bool set = (digit >> bit & 1) != 0;
        const unsigned with = __ballot_sync(kWholeWarp, set);
        peers &= set ? with : ~with;
      }
      visit(own[j], digit, peers);
      __syncwarp();
    }
  }
}

template <class Keys>
__device__ void count_by_warp(const Pass& pass, const Keys& keys, DigitCounts& counts) {
  for (int i = static_cast<int>(threadIdx.x); i < RadixSortPlan::kWarps * kMostDigits; i += kThreads)
    counts[i / kMostDigits][i % kMostDigits] = 0;
  __syncthreads();
  const auto warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  walk_keys(pass, keys, [&](const Entry&, int digit, unsigned peers) {
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
// and warps before. In place of the warps' own counts; counts_of_row are those of all blocks.
__device__ inline void make_places(const Pass& pass, const std::uint32_t* counts_of_row,
                                   DigitCounts& places) {
  __shared__ std::uint32_t of_warps[RadixSortPlan::kWarps];
  const auto digit = static_cast<int>(threadIdx.x), warp = digit / kWarp, lane = digit % kWarp;
  std::uint32_t all = 0, before = 0;  // keys that have this thread's digit
  if (digit < pass.digits) {
    if (gridDim.x == 1) {
      for (int w = 0; w < RadixSortPlan::kWarps; ++w) all += places[w][digit];
    } else {
#pragma unroll 16
      for (unsigned block = 0; block < gridDim.x; ++block) {
        const std::uint32_t count = counts_of_row[block * pass.digits + digit];
        all += count;
        before += block < blockIdx.x ? count : 0;
      }
    }
  }
  std::uint32_t sum = all;  // up to this digit, in the end
  for (int offset = 1; offset < kWarp; offset *= 2) {
    const std::uint32_t other = __shfl_up_sync(kWholeWarp, sum, offset);
    if (lane >= offset) sum += other;
  }
  if (lane == kWarp - 1) of_warps[warp] = sum;
  __syncthreads();
  for (int w = 0; w < warp; ++w) sum += of_warps[w];
  if (digit < pass.digits) {
    std::uint32_t place = sum - all + before;
#pragma unroll
    for (int w = 0; w < RadixSortPlan::kWarps; ++w) {
      const std::uint32_t own = places[w][digit];
      places[w][digit] = place;
      place += own;
    }
  }
  __syncthreads();
}

struct KeyArrays {
  std::uint32_t* keys;
  std::uint32_t* positions;
};

template <class Keys>
__device__ void move_by_digit(const Pass& pass, const Keys& keys, const std::uint32_t* counts,
                              const KeyArrays& to, DigitCounts& places) {
  count_by_warp(pass, keys, places);
  make_places(pass, counts + std::int64_t{blockIdx.y} * gridDim.x * pass.digits, places);
  const auto warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t row_start = std::int64_t{blockIdx.y} * pass.columns;
  walk_keys(pass, keys, [&](const Entry& entry, int digit, unsigned peers) {
    if (digit >= 0) {
      const unsigned earlier = peers & ((1U << lane) - 1);
      const std::int64_t place = row_start + places[warp][digit] + __popc(earlier);
      to.keys[place] = entry.key;
      to.positions[place] = entry.position;
    }
    __syncwarp();
    if (digit >= 0 && lane == __ffs(static_cast<int>(peers)) - 1) places[warp][digit] += __popc(peers);
  });
}

template <class Keys>
__global__ void __launch_bounds__(kThreads)
    move_keys(Pass pass, Keys keys, const std::uint32_t* counts, KeyArrays to) {
  if (!pass.is_wanted()) return;
  __shared__ DigitCounts places;
  move_by_digit(pass, keys, counts, to, places);
}

// All passes, by one block per row. The last one's result is in arrays[(passes - 1) % 2].
template <class MakeKey>
__global__ void __launch_bounds__(kThreads)
    sort_in_one_launch(Pass pass, int passes, MadeKeys<MakeKey> made, KeyArrays even, KeyArrays odd) {
  if (!pass.is_wanted()) return;
  __shared__ DigitCounts places;
  move_by_digit(pass, made, nullptr, even, places);
  for (int p = 1; p < passes; ++p) {
    __syncthreads();  // what the block has written is seen by all of it
    pass.shift += pass.digit_bits;
    const KeyArrays& from = p % 2 == 0 ? odd : even;
    move_by_digit(pass, StoredKeys{from.keys, from.positions, pass.columns}, nullptr, p % 2 == 0 ? even : odd,
                  places);
  }
}

}  // namespace radix_sort

template <class MakeKey>
SortedRows sort_rows(const RadixSortPlan& plan, const MakeKey& make_key, const SortRun& run) {
  using namespace radix_sort;
  auto* counts = reinterpret_cast<std::uint32_t*>(run.workspace);
  const auto array = [&](int i) {
    return reinterpret_cast<std::uint32_t*>(run.workspace + plan.count_bytes() + i * plan.array_bytes());
  };
  const KeyArrays arrays[]{{array(0), array(1)}, {array(2), array(3)}};
  const MadeKeys<MakeKey> made{make_key};
  Pass pass{.columns = static_cast<int>(plan.columns),
            .keys_per_warp = static_cast<int>(plan.keys_per_warp()),
            .shift = 0,
            .digit_bits = plan.digit_bits(),
            .digits = plan.digits(),
            .unless_zero = run.unless_zero};
  const dim3 grid(static_cast<unsigned>(plan.blocks()), static_cast<unsigned>(plan.rows));
  const KeyArrays& result = arrays[(plan.passes() - 1) % 2];
  if (plan.blocks() == 1) {
    sort_in_one_launch<<<grid, kThreads, 0, run.stream>>>(pass, plan.passes(), made, arrays[0], arrays[1]);
    return {result.keys, result.positions};
  }
  for (int p = 0; p < plan.passes(); ++p) {
    const auto launch = [&](const auto& keys) {
      count_digits<<<grid, kThreads, 0, run.stream>>>(pass, keys, counts);
      move_keys<<<grid, kThreads, 0, run.stream>>>(pass, keys, counts, arrays[p % 2]);
    };
    const KeyArrays& from = arrays[(p + 1) % 2];
    if (p == 0)
      launch(made);
    else
      launch(StoredKeys{from.keys, from.positions, plan.columns});
    pass.shift += plan.digit_bits();
  }
  return {result.keys, result.positions};
}

}  // namespace nadi::inline engines::cuda
