// What comes before the first forward pass of a stage and after its last backward pass: parameters that are
// gathered, gradients that are set to zero; the reduction of gradients, as far as it is not hidden, their norm,
// and the update; for any number of layers.
//
//   ReductionTable reductions(question);
//   const StageReductions& after = reductions.of({.blocks = &times, .role = ChunkRole::kMiddle, .data =
//   group}); after.reduction[6], after.update[6]
//
// A bucket of gradients is reduced when the last of them is ready and the bucket before it has been reduced.
// With t(b) the time of bucket b, and lead(b) how long before the end of the backward pass it is ready, the
// last reduction ends
//   max over b of  sum of t(k) for k >= b  -  lead(b)
// after the backward pass. The norm of a bucket is taken after its reduction, and after the backward pass.
// Under ZeRO an updated part is gathered after it was updated and the one before it was gathered; or in the next
// step, one after the other, before the forward pass comes to it: with g(b) the time of a gather, and use(b) how
// long after its start the forward pass needs the parameters, it is held back by
//   max over b of  sum of g(k) for k <= b  -  use(b).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/plan/block_times.h"
#include "nadi/plan/plan_network.h"
#include "nadi/plan/plan_question.h"

namespace nadi::inline predict {

struct ReductionRequestOfStage {
  const BlockTimes* blocks = nullptr;
  ChunkRole role{};
  GroupUse data = {};    // ranks that hold the same parameters; one member: nothing is reduced
  GroupUse tensor = {};  // with sequence parallelism, over which norms' gradients are summed; else one member
  bool zero = false;     // the optimizer's state is split over `data`
  bool clears = false;   // gradients are sums over micro-batches and start from zero
  bool counts_tied = true;  // in the norm: tied weights count on the first stage alone

  bool operator==(const ReductionRequestOfStage&) const = default;
};

struct StageReductions {
  // By number of layers: those that were asked for.
  std::vector<char> known;
  std::vector<Nanoseconds> start, reduction, update;  // start: before the first forward pass
  std::vector<std::int32_t> collectives;  // how many its host launches during and after the backward pass
  // For tied word embeddings: the reduction over `data` and their norm; their update, which `update` has, too.
  Nanoseconds tied = {}, tied_update = {};
  Bytes tied_size = {};  // of their gradients on the network; 0 means there are none
};

class ReductionTable {
 public:
  explicit ReductionTable(const PlanQuestion& question);

  // For all numbers of layers, or for one. Stays where it is as long as this lives.
  static constexpr std::int64_t kAnyLayers = -1;
  const StageReductions& of(const ReductionRequestOfStage& request, PlanNetwork& network,
                            std::int64_t layers = kAnyLayers);

  // One chunk of a rank with several, in the order in which their last backward passes end.
  struct ChunkEnd {
    ChunkRole role{};
    std::int64_t layers = 0;
    std::int64_t before_end = 0;  // nanoseconds from there to the end of the last of them
  };
  struct Sums {
    Nanoseconds reduction = {}, update = {}, tied = {}, tied_update = {};
    Bytes tied_size = {};
    std::int32_t collectives = 0;
  };
  Sums of_chunks(const ReductionRequestOfStage& request, std::span<const ChunkEnd> chunks,
                 PlanNetwork& network);
  // Before the first forward pass of a rank with these chunks.
  Nanoseconds start_of(const ReductionRequestOfStage& request, std::span<const ChunkEnd> chunks,
                       PlanNetwork& network) const;

 private:
  struct BucketTimes {
    std::int64_t reduce = 0, norm = 0, update = 0, gather = 0;
  };
  class Sum;
  StageReductions& entry_of(const ReductionRequestOfStage& request);
  BucketTimes times_of(const ReductionRequestOfStage& request, const PlannedBucket& bucket,
                       PlanNetwork& network) const;
  static BucketsOf buckets_of(const ReductionRequestOfStage& request, std::span<const ChunkEnd> chunks);

  const PlanQuestion& question_;
  struct Known {
    ReductionRequestOfStage request;
    std::unique_ptr<StageReductions> reductions;
  };
  std::unordered_map<std::uint64_t, std::vector<Known>> known_;
};

}  // namespace nadi::inline predict
