// Which gradients of a chunk are reduced together, for any number of layers: the buckets that
// parallel/parameter_layout.h fills, as sizes and places.
//
//   const GradientBuckets buckets(pieces, rules);
//   for (const PlannedBucket& bucket : buckets.of({.role = ChunkRole::kMiddle, .layers = 6}, 8)) ...
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "nadi/parallel/parameter_layout.h"

namespace nadi::inline predict {

// Which ends of the model a chunk has.
enum class ChunkRole : std::uint8_t { kMiddle, kFirst, kLast, kWhole };
inline constexpr int kChunkRoles = 4;
constexpr ChunkRole role_of_chunk(bool first, bool last) {
  return first  ? (last ? ChunkRole::kWhole : ChunkRole::kFirst)
         : last ? ChunkRole::kLast
                : ChunkRole::kMiddle;
}
constexpr bool has_embedding(ChunkRole role) {
  return role == ChunkRole::kFirst || role == ChunkRole::kWhole;
}
constexpr bool has_head(ChunkRole role) {
  return role == ChunkRole::kLast || role == ChunkRole::kWhole;
}

// The pieces of a backward pass, in their order.
enum class BackwardPiece : std::uint8_t { kHead, kLayers, kEmbedding };
inline constexpr int kBackwardPieces = 3;

struct PlannedGradient {
  LaidParameter parameter;
  bool of_layer = false;  // of the first layer, in the piece of the embedding
};

// Gradients by piece, as they become ready. Those of kLayers are of one layer, or of as many as are
// recomputed together; kEmbedding has those of the first layer, too.
struct PieceGradients {
  std::array<std::vector<PlannedGradient>, kBackwardPieces> of;
  std::int64_t layers_per_piece = 1;
  bool partial = false;  // those that are replicated are of each tensor-parallel rank's own tokens
};

// The gradient that is ready last of a bucket.
struct PlannedBucket {
  std::int64_t elements = 0;
  BackwardPiece piece{};
  std::int32_t layers_piece = 0;  // which of them, the first to be computed is 0
  std::int32_t gradient = 0;      // in its piece
  // These wait for the end of the pass: they are summed over tensor-parallel ranks, or over stages, first.
  bool partial = false, tied = false;
};

// A chunk of a rank, with what the rank's buckets depend on.
struct PlannedChunk {
  ChunkRole role{};
  std::int64_t layers = 0;
  BucketsOf buckets_of = {};  // the rank's elements, the ranks that reduce them
};

class GradientBuckets {
 public:
  GradientBuckets(PieceGradients pieces, const LayoutRules& rules);

  // As they become ready; those that wait for the end last. Each list is made when it is first asked for, and
  // stays where it is. Not thread-safe.
  const std::vector<PlannedBucket>& of(ChunkRole role, std::int64_t layers, std::int64_t ranks) const;

  // Where a rank has several chunks: with the size that fits all of its elements.
  std::vector<PlannedBucket> of_chunk(const PlannedChunk& chunk) const;
  std::int64_t elements(ChunkRole role, std::int64_t layers) const;

 private:
  template <typename Visit>
  void for_gradients(ChunkRole role, std::int64_t layers, Visit&& visit) const;
  std::vector<PlannedBucket> planned(ChunkRole role, std::int64_t layers, std::int64_t full) const;

  PieceGradients pieces_;
  LayoutRules rules_;
  struct Key {
    ChunkRole role{};
    std::int64_t layers = 0, full = 0;
    auto operator<=>(const Key&) const = default;
  };
  mutable std::map<Key, std::vector<PlannedBucket>> known_;
  mutable std::array<std::vector<std::int64_t>, kChunkRoles>
      elements_;  // by layers; negative: not counted yet
};

}  // namespace nadi::inline predict
