#include "nadi/plan/reduction_times.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>

#include "nadi/base/hash.h"
#include "nadi/graph/ops/collectives.h"

namespace nadi::inline predict {
namespace {

constexpr std::int64_t kLongBefore = std::numeric_limits<std::int64_t>::min() / 4;

std::int64_t rounded(double nanoseconds) {
  return std::llround(nanoseconds);
}

// How a chunk's layers are cut into pieces of its backward pass.
struct Cut {
  bool joined = false;      // the first layers belong to the embedding's piece
  std::int64_t pieces = 0;  // of other layers
  Cut(const BlockTimes& blocks, ChunkRole role, std::int64_t layers)
      : joined(has_embedding(role) && layers >= blocks.layers_per_piece),
        pieces((layers + blocks.layers_per_piece - 1) / blocks.layers_per_piece - (joined ? 1 : 0)) {}

  // Pieces of layers behind the bucket's in the backward pass, before it in the forward pass.
  std::int64_t behind(const PlannedBucket& bucket) const {
    return bucket.piece == BackwardPiece::kHead ? pieces : pieces - 1 - bucket.layers_piece;
  }
};

// So long before the end of the backward pass the last gradient of a bucket is ready.
std::int64_t lead_of(const BlockTimes& blocks, const PlannedBucket& bucket, ChunkRole role,
                     std::int64_t layers) {
  const auto run = [&](BackwardPiece piece) { return blocks.pieces[static_cast<std::size_t>(piece)].run; };
  std::int64_t lead =
      blocks.pieces[static_cast<std::size_t>(bucket.piece)].leads[static_cast<std::size_t>(bucket.gradient)];
  if (bucket.piece == BackwardPiece::kEmbedding) return lead;
  const Cut cut(blocks, role, layers);
  if (has_embedding(role))
    lead += cut.joined
                ? run(BackwardPiece::kEmbedding)
                : std::max<std::int64_t>(0, run(BackwardPiece::kEmbedding) - run(BackwardPiece::kLayers));
  return lead + cut.behind(bucket) * run(BackwardPiece::kLayers);
}

// And so long after the start of the forward pass it needs the bucket's parameters: when the layers before have
// run. Parameters whose gradients are ready last are needed first.
std::int64_t use_of(const BlockTimes& blocks, const PlannedBucket& bucket, ChunkRole role,
                    std::int64_t layers) {
  if (bucket.piece == BackwardPiece::kEmbedding) return 0;
  const Cut cut(blocks, role, layers);
  const std::int64_t before = (cut.behind(bucket) + (cut.joined ? 1 : 0)) * blocks.layers_per_piece;
  const auto& forward =
      blocks.forward[static_cast<std::size_t>(has_embedding(role) ? ChunkRole::kFirst : ChunkRole::kMiddle)];
  return before == 0 && !has_embedding(role)
             ? 0
             : forward[static_cast<std::size_t>(std::min(before, layers))].run.count();
}

}  // namespace

ReductionTable::ReductionTable(const PlanQuestion& question) : question_(question) {}

ReductionTable::BucketTimes ReductionTable::times_of(const ReductionRequestOfStage& request,
                                                     const PlannedBucket& bucket,
                                                     PlanNetwork& network) const {
  const BlockTimes& blocks = *request.blocks;
  const std::int64_t element = question_.overlap.gradient_dtype ? size_of(*question_.overlap.gradient_dtype)
                                                                : blocks.rates.gradient_bytes;
  const Bytes size{bucket.elements * element};
  BucketTimes times;
  const bool splits = request.zero && request.data.members > 1;
  const std::int64_t part = splits ? bucket_part(bucket.elements, request.data.members) : bucket.elements;
  if (request.data.members > 1)
    times.reduce = network
                       .collective(splits ? CollectiveType::kReduceScatter : CollectiveType::kAllReduce, size,
                                   request.data)
                       .count();
  times.norm = rounded(blocks.rates.norm * static_cast<double>(part));
  times.update = rounded(blocks.rates.update * static_cast<double>(part));
  if (splits)
    times.gather = network
                       .collective(CollectiveType::kAllGather, Bytes{part * size_of(question_.request.dtype)},
                                   request.data)
                       .count();
  return times;
}

// Buckets of one chunk after the other. Times are nanoseconds from the end of the last backward pass.
class ReductionTable::Sum {
 public:
  Sum(const ReductionTable& table, const ReductionRequestOfStage& request, PlanNetwork& network)
      : table_(table),
        request_(request),
        network_(network),
        overlap_(table.question_.overlap),
        gathers_early_(table.question_.request.layout.gathers == GatherTime::kBeforeUse) {}

  void add(std::span<const PlannedBucket> buckets, const ChunkEnd& chunk) {
    const BlockTimes& blocks = *request_.blocks;
    const bool waits = overlap_.reduce_after_backward || overlap_.blocking_collectives;
    BucketTimes times;
    std::int64_t known = -1;  // elements that `times` are of
    for (const PlannedBucket& bucket : buckets) {
      if (bucket.elements != known) times = table_.times_of(request_, bucket, network_);
      known = bucket.elements;
      collectives_ += (times.reduce > 0 ? 1 : 0) + (bucket.partial ? 1 : 0) + (bucket.tied ? 1 : 0);
      updated_ += times.update;
      if (!gathers_early_) gathered_ = std::max(gathered_, updated_) + times.gather;
      if (bucket.tied) {
        tied_size_ += bucket.elements * blocks.rates.gradient_bytes;
        tied_update_ += times.update + (gathers_early_ ? 0 : times.gather);
        tied_ += times.reduce + (request_.counts_tied ? times.norm : 0);
        continue;
      }
      std::int64_t ready =
          waits || bucket.partial ? 0 : -chunk.before_end - lead_of(blocks, bucket, chunk.role, chunk.layers);
      if (bucket.partial) {
        const Bytes size{bucket.elements * blocks.rates.gradient_bytes};
        tensor_ += network_.collective(CollectiveType::kAllReduce, size, request_.tensor).count();
        ready = tensor_;
      }
      reduced_ = std::max(reduced_, ready) + times.reduce;
      normed_ = std::max(normed_, reduced_) + times.norm;
    }
  }

  Sums sums() const {
    const BlockTimes& blocks = *request_.blocks;
    Sums sums{.reduction = Nanoseconds{normed_},
              .update = Nanoseconds{std::max(updated_, gathered_)} + blocks.rates.once,
              .tied = Nanoseconds{tied_},
              .tied_update = Nanoseconds{tied_update_},
              .collectives = collectives_};
    const std::int64_t element =
        overlap_.gradient_dtype ? size_of(*overlap_.gradient_dtype) : blocks.rates.gradient_bytes;
    sums.tied_size = Bytes{tied_size_ / blocks.rates.gradient_bytes * element};
    return sums;
  }

 private:
  const ReductionTable& table_;
  const ReductionRequestOfStage& request_;
  PlanNetwork& network_;
  const OverlapOptions& overlap_;
  const bool gathers_early_;
  std::int32_t collectives_ = 0;
  std::int64_t reduced_ = kLongBefore;
  std::int64_t normed_ = 0;  // not while the backward pass computes
  std::int64_t tensor_ = 0;
  std::int64_t updated_ = 0, gathered_ = 0;
  std::int64_t tied_ = 0, tied_update_ = 0, tied_size_ = 0;
};

StageReductions& ReductionTable::entry_of(const ReductionRequestOfStage& request) {
  std::uint64_t hash = reinterpret_cast<std::uintptr_t>(request.blocks);
  for (const std::int64_t value :
       {static_cast<std::int64_t>(request.role), static_cast<std::int64_t>(request.data.group),
        std::int64_t{request.data.sharing}, std::int64_t{request.data.members},
        static_cast<std::int64_t>(request.tensor.group), std::int64_t{request.tensor.sharing},
        std::int64_t{request.zero}, std::int64_t{request.clears}, std::int64_t{request.counts_tied}})
    hash = hash_with(hash, static_cast<std::uint64_t>(value));
  std::vector<Known>& bucket = known_[hash];
  for (const Known& known : bucket)
    if (known.request == request) return *known.reductions;
  auto fresh = std::make_unique<StageReductions>();
  const auto count = static_cast<std::size_t>(question_.config.layers) + 1;
  fresh->known.resize(count);
  fresh->start.resize(count);
  fresh->reduction.resize(count);
  fresh->update.resize(count);
  fresh->collectives.resize(count);
  bucket.push_back({request, std::move(fresh)});
  return *bucket.back().reductions;
}

const StageReductions& ReductionTable::of(const ReductionRequestOfStage& request, PlanNetwork& network,
                                          std::int64_t layers) {
  StageReductions& entry = entry_of(request);
  const std::int64_t first = layers == kAnyLayers ? 0 : layers;
  const std::int64_t last = layers == kAnyLayers ? question_.config.layers : layers;
  for (std::int64_t n = first; n <= last; ++n) {
    const auto at = static_cast<std::size_t>(n);
    if (entry.known[at] != 0) continue;
    Sum sum(*this, request, network);
    const std::array chunk{ChunkEnd{.role = request.role, .layers = n}};
    sum.add(request.blocks->buckets->of(request.role, n, request.data.members), chunk[0]);
    const Sums sums = sum.sums();
    entry.known[at] = 1;
    entry.start[at] = start_of(request, chunk, network);
    entry.reduction[at] = sums.reduction;
    entry.update[at] = sums.update;
    entry.collectives[at] = sums.collectives;
    entry.tied = sums.tied;
    entry.tied_update = sums.tied_update;
    entry.tied_size = sums.tied_size;
  }
  return entry;
}

ReductionTable::Sums ReductionTable::of_chunks(const ReductionRequestOfStage& request,
                                               std::span<const ChunkEnd> chunks, PlanNetwork& network) {
  BucketsOf of = buckets_of(request, chunks);
  Sum sum(*this, request, network);
  for (const ChunkEnd& chunk : chunks) {
    of.first_chunk = has_embedding(chunk.role);
    sum.add(request.blocks->buckets->of_chunk({chunk.role, chunk.layers, of}), chunk);
  }
  return sum.sums();
}

BucketsOf ReductionTable::buckets_of(const ReductionRequestOfStage& request,
                                     std::span<const ChunkEnd> chunks) {
  BucketsOf of{.ranks = request.data.members};
  for (const ChunkEnd& chunk : chunks)
    of.elements += request.blocks->buckets->elements(chunk.role, chunk.layers);
  return of;
}

Nanoseconds ReductionTable::start_of(const ReductionRequestOfStage& request, std::span<const ChunkEnd> chunks,
                                     PlanNetwork& network) const {
  const BlockTimes& blocks = *request.blocks;
  BucketsOf of = buckets_of(request, chunks);
  std::int64_t start = request.clears ? rounded(blocks.rates.clear * static_cast<double>(of.elements)) : 0;
  const bool gathers = request.zero && question_.request.layout.gathers == GatherTime::kBeforeUse;
  if (!gathers || request.data.members == 1) return Nanoseconds{start};
  // Those of the rank's first chunk, which ends last. Other chunks run later, and what they need is there by then.
  const ChunkEnd& chunk = chunks.back();
  of.first_chunk = has_embedding(chunk.role);
  std::vector<PlannedBucket> buckets = blocks.buckets->of_chunk({chunk.role, chunk.layers, of});
  std::ranges::stable_sort(buckets, std::greater{}, [](const PlannedBucket& bucket) {
    return std::tuple(bucket.piece, bucket.layers_piece, bucket.gradient);
  });
  std::int64_t gathered = 0;
  for (const PlannedBucket& bucket : buckets) {
    gathered += times_of(request, bucket, network).gather;
    start = std::max(start, gathered - use_of(blocks, bucket, chunk.role, chunk.layers));
  }
  return Nanoseconds{start};
}

}  // namespace nadi::inline predict
