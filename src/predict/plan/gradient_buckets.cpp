#include "nadi/plan/gradient_buckets.h"

#include <algorithm>
#include <utility>

namespace nadi::inline predict {

GradientBuckets::GradientBuckets(PieceGradients pieces, const LayoutRules& rules)
    : pieces_(std::move(pieces)), rules_(rules) {}

template <typename Visit>
void GradientBuckets::for_gradients(ChunkRole role, std::int64_t layers, Visit&& visit) const {
  const auto visit_piece = [&](BackwardPiece piece, std::int64_t number, std::size_t first, auto&& belongs) {
    const std::vector<PlannedGradient>& list = pieces_.of[static_cast<std::size_t>(piece)];
    for (std::size_t i = first; i < list.size(); ++i)
      if (belongs(list[i]))
        visit(list[i], PlannedBucket{.piece = piece,
                                     .layers_piece = static_cast<std::int32_t>(number),
                                     .gradient = static_cast<std::int32_t>(i)});
  };
  const auto all = [](const PlannedGradient&) { return true; };
  if (has_head(role)) visit_piece(BackwardPiece::kHead, 0, 0, all);
  const std::int64_t per_piece = pieces_.layers_per_piece;
  // The first layers belong to the embedding's piece where there is one.
  const bool joined = has_embedding(role) && layers >= per_piece;
  const std::int64_t others = joined ? layers - per_piece : layers;
  const std::size_t of_piece = pieces_.of[static_cast<std::size_t>(BackwardPiece::kLayers)].size();
  std::int64_t number = 0;
  if (const std::int64_t rest = others % per_piece; rest > 0)
    visit_piece(BackwardPiece::kLayers, number++,
                of_piece - of_piece * static_cast<std::size_t>(rest) / static_cast<std::size_t>(per_piece),
                all);
  for (std::int64_t i = 0; i < others / per_piece; ++i) visit_piece(BackwardPiece::kLayers, number++, 0, all);
  if (has_embedding(role))
    visit_piece(BackwardPiece::kEmbedding, 0, 0,
                [&](const PlannedGradient& gradient) { return joined || !gradient.of_layer; });
}

std::int64_t GradientBuckets::elements(ChunkRole role, std::int64_t layers) const {
  std::vector<std::int64_t>& known = elements_[static_cast<std::size_t>(role)];
  const auto at = static_cast<std::size_t>(layers);
  if (known.size() <= at) known.resize(at + 1, -1);
  if (known[at] >= 0) return known[at];
  known[at] = 0;
  for_gradients(role, layers, [&](const PlannedGradient& gradient, const PlannedBucket&) {
    known[at] += gradient.parameter.elements;
  });
  return known[at];
}

const std::vector<PlannedBucket>& GradientBuckets::of(ChunkRole role, std::int64_t layers,
                                                      std::int64_t ranks) const {
  const std::int64_t full = full_bucket(
      rules_, {.elements = elements(role, layers), .ranks = ranks, .first_chunk = has_embedding(role)});
  std::vector<PlannedBucket>& known = known_[{role, layers, full}];
  if (known.empty()) known = planned(role, layers, full);
  return known;
}

std::vector<PlannedBucket> GradientBuckets::of_chunk(const PlannedChunk& chunk) const {
  return planned(chunk.role, chunk.layers, full_bucket(rules_, chunk.buckets_of));
}

std::vector<PlannedBucket> GradientBuckets::planned(ChunkRole role, std::int64_t layers,
                                                    std::int64_t full) const {
  BucketFiller filler(full);
  std::array<PlannedBucket, BucketKind::kCount> last{};  // its last gradient
  std::array<std::int64_t, BucketKind::kCount> ready{};
  std::vector<std::pair<std::int64_t, PlannedBucket>> closed;
  const auto close = [&](BucketKind kind, const BucketFiller::Bucket& content) {
    PlannedBucket& bucket = last[kind.index()];
    bucket.elements = content.elements;
    bucket.partial = pieces_.partial && kind.replicated();
    bucket.tied = kind.tied();
    closed.emplace_back(ready[kind.index()], bucket);
  };
  std::int64_t position = 0;
  for_gradients(role, layers, [&](const PlannedGradient& gradient, const PlannedBucket& place) {
    const BucketKind kind = filler.put(gradient.parameter);
    last[kind.index()] = place;
    ready[kind.index()] = position++;
    if (filler.is_full(kind)) close(kind, filler.take(kind));
  });
  filler.take_rest(close);
  std::ranges::stable_sort(closed, {}, [](const auto& bucket) {
    return std::pair(bucket.second.partial || bucket.second.tied, bucket.first);
  });
  std::vector<PlannedBucket> result;
  result.reserve(closed.size());
  for (const auto& [place, bucket] : closed) result.push_back(bucket);
  return result;
}

}  // namespace nadi::inline predict
