// How rows of keys are sorted on a GPU (radix_sort.cuh): passes, blocks and memory, known without CUDA.
//
// A least-significant-digit radix sort: stable, so that equal keys stay in the order of their positions, and
// the same on every run. Each pass counts the digits of each block's keys, then moves every key to its place.
// Short rows have one block, which makes all passes in one launch.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "nadi/base/round_up.h"
#include "nadi/cuda/device_traits.h"

namespace nadi::inline engines::cuda {

struct RadixSortPlan {
  std::int64_t rows;     // each sorted by itself
  std::int64_t columns;  // keys of a row, fewer than 2^31
  int key_bits;          // keys are below 2^key_bits

  static constexpr int kMostDigitBits = 9;
  static constexpr int kWarps = 16;  // of a block
  static constexpr int kLanes = 32;
  // More share a row only where one would take long. Each looks at the counts of all.
  static constexpr std::int64_t kKeysOfOneBlock = 2048;
  static constexpr std::int64_t kMostBlocks = 32;

  int passes() const { return divided_up(key_bits, kMostDigitBits); }
  int digit_bits() const { return divided_up(key_bits, passes()); }
  int digits() const { return 1 << digit_bits(); }

  // Keys of a warp, one after the other; a multiple of its lanes.
  std::int64_t keys_per_warp() const {
    const std::int64_t most = columns <= kKeysOfOneBlock ? 1 : kMostBlocks;
    return rounded_up(divided_up(std::max<std::int64_t>(columns, 1), most * kWarps), kLanes);
  }
  std::int64_t blocks() const {  // per row
    return divided_up(std::max<std::int64_t>(columns, 1), keys_per_warp() * kWarps);
  }

  // Counts, then twice keys and positions: passes go back and forth between them.
  std::int64_t count_bytes() const {
    return rounded_up(rows * blocks() * digits() * std::int64_t{4}, kDeviceAlignment);
  }
  std::int64_t array_bytes() const { return rounded_up(rows * columns * std::int64_t{4}, kDeviceAlignment); }
  std::int64_t bytes() const { return count_bytes() + 4 * array_bytes(); }
};

}  // namespace nadi::inline engines::cuda
