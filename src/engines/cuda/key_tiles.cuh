// Which tiles of keys a block of queries must look at, on tensor cores.
//
//   const KeyTiles tiles(in, b, first_query, end_query);
//   for (int tile = tiles.next(0); tile < tiles.count(); tile = tiles.next(tile + 1)) ...
#pragma once

#include "nadi/cuda/tensor_core_tiles.cuh"

namespace nadi::inline engines::cuda {

class KeyTiles {
 public:
  // Queries `first` to `end`.
  __device__ KeyTiles(const AttentionOperands& in, int b, int first, int end)
      : in_(in), tiles_((static_cast<int>(in.extents.S) + kTileRows - 1) / kTileRows) {
    if (in.query_positions == nullptr) {
      most_ = attention_limit(in, b, end - 1);
      return;
    }
    for (int token = first; token < end; ++token) most_ = max(most_, attention_limit(in, b, token));
  }
  // The first from `tile` on; at least the number of tiles: none. Of whole warps.
  __device__ int next(int tile) const {
    if (in_.key_positions == nullptr) return tile * kTileRows < most_ ? tile : tiles_;
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    for (; tile < tiles_; ++tile) {
      const int key = tile * kTileRows + lane;
      const int lowest = min(key_position(in_, key), key_position(in_, key + kWarp));
      if (__any_sync(kWholeWarp, lowest < most_)) break;
    }
    return tile;
  }
  __device__ int count() const { return tiles_; }
  // Keys that exist and may be seen: what is behind them in a cache need not be numbers.
  __device__ int keys() const {
    const int S = static_cast<int>(in_.extents.S);
    return in_.key_positions == nullptr ? min(S, most_) : S;
  }

 private:
  const AttentionOperands& in_;
  int tiles_;
  int most_ = 0;
};

}  // namespace nadi::inline engines::cuda
