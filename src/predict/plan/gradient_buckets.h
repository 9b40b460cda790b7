// Which gradients of a chunk are reduced together, for any number of layers: the buckets that
// parallel/gradient_reduction.h builds, as sizes and places.
//
//   const GradientBuckets buckets(pieces, layers, kBucketsAsTheyFit);
//   for (const PlannedBucket& bucket : buckets.of(ChunkRole::kMiddle, 6)) ...
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "nadi/parallel/chunk_cost.h"

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
  ChunkCost::Member member;
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

class GradientBuckets {
 public:
  // For 0 to `layers` layers. `bucket_elements` as in StepRequest.
  GradientBuckets(PieceGradients pieces, std::int64_t layers, std::int64_t bucket_elements);

  // As they become ready; those that wait for the end last. Each list is made when it is first asked for, and
  // stays where it is. Not thread-safe.
  const std::vector<PlannedBucket>& of(ChunkRole role, std::int64_t layers) const;

  // Where a rank has several chunks: with the size that fits all of its elements.
  std::vector<PlannedBucket> planned(ChunkRole role, std::int64_t layers, std::int64_t bucket_elements) const;
  std::int64_t elements(ChunkRole role, std::int64_t layers) const;

 private:
  template <typename Visit>
  void for_gradients(ChunkRole role, std::int64_t layers, Visit&& visit) const;

  PieceGradients pieces_;
  std::int64_t bucket_elements_ = 0;
  mutable std::array<std::vector<std::vector<PlannedBucket>>, kChunkRoles>
      buckets_;  // empty means not made yet
};

}  // namespace nadi::inline predict
