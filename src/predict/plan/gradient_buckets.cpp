#include "nadi/plan/gradient_buckets.h"

#include <algorithm>
#include <utility>

#include "nadi/parallel/gradient_reduction.h"

namespace nadi::inline predict {

GradientBuckets::GradientBuckets(PieceGradients pieces, std::int64_t layers, std::int64_t bucket_elements)
    : pieces_(std::move(pieces)), bucket_elements_(bucket_elements) {
  for (std::vector<std::vector<PlannedBucket>>& by_layers : buckets_)
    by_layers.resize(static_cast<std::size_t>(layers) + 1);
}

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
  std::int64_t sum = 0;
  for_gradients(role, layers, [&](const PlannedGradient& gradient, const PlannedBucket&) {
    sum += gradient.member.elements;
  });
  return sum;
}

const std::vector<PlannedBucket>& GradientBuckets::of(ChunkRole role, std::int64_t layers) const {
  std::vector<PlannedBucket>& known =
      buckets_[static_cast<std::size_t>(role)][static_cast<std::size_t>(layers)];
  if (known.empty())
    known = planned(
        role, layers,
        bucket_elements_ == kBucketsAsTheyFit ? fitting_bucket(elements(role, layers)) : bucket_elements_);
  return known;
}

std::vector<PlannedBucket> GradientBuckets::planned(ChunkRole role, std::int64_t layers,
                                                    std::int64_t bucket_elements) const {
  std::array<PlannedBucket, 8> open{};
  std::array<std::int64_t, 8> ready{};
  std::vector<std::pair<std::int64_t, PlannedBucket>> closed;
  const auto close = [&](std::size_t kind) {
    open[kind].partial = pieces_.partial && (kind & 2u) != 0;
    open[kind].tied = (kind & 4u) != 0;
    closed.emplace_back(ready[kind], open[kind]);
    open[kind].elements = 0;
  };
  std::int64_t position = 0;
  for_gradients(role, layers, [&](const PlannedGradient& gradient, const PlannedBucket& place) {
    const ChunkCost::Member& member = gradient.member;
    const std::size_t kind =
        (member.decays ? 1u : 0u) | (member.replicated ? 2u : 0u) | (member.tied ? 4u : 0u);
    const std::int64_t elements = open[kind].elements + member.elements;
    open[kind] = place;
    open[kind].elements = elements;
    ready[kind] = position++;
    if (elements >= bucket_elements) close(kind);
  });
  for (std::size_t kind = 0; kind < open.size(); ++kind)
    if (open[kind].elements > 0) close(kind);
  std::ranges::stable_sort(closed, {}, [](const auto& bucket) {
    return std::pair(bucket.second.partial || bucket.second.tied, bucket.first);
  });
  std::vector<PlannedBucket> result;
  result.reserve(closed.size());
  for (const auto& [place, bucket] : closed) result.push_back(bucket);
  return result;
}

}  // namespace nadi::inline predict
