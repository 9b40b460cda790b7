// Who holds what: which elements of which parameter, of its gradient and of its optimizer state a rank has, in
// which bucket and in which order, over which ranks they are reduced and gathered, and when. Nobody else knows
// what a bucket is: the graph of reductions (gradient_reduction.h), their cost (reduction_cost.h), the planner's
// times, checkpoints (logical_state.h, Megatron's shards) and the variables of engines ask here.
//
// Parameters fill buckets in the order in which the last of their gradients are ready. Those of one bucket are
// of one kind: alike in weight decay, in how tensor parallelism and pipelines hold them, and in the ranks that
// they are reduced over. A bucket is full with so many elements (LayoutRules); its gradients are reduced when
// the last of them is ready.
//
//   BucketFiller filler(full_bucket(rules, {.elements = all, .ranks = 8, .first_chunk = true}));
//   for (const LaidParameter& parameter : as_they_become_ready)
//     if (const BucketKind kind = filler.put(parameter); filler.is_full(kind)) use(filler.take(kind));
//
//   const ParameterLayout layout(parameters, stage_layout(rules, plan, 0));      // with places in memory
//   layout.buckets[0].members[2].start
//   shard_of({.form = ShardForm::kFlat, .part = 16, .start = 40, .elements = 20}, 3)     // [8, 20), at 0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/parallel/chunk_graph.h"
#include "nadi/parallel/plan.h"

namespace nadi::inline describe {

// Sizes of buckets. Small enough that the last one, whose reduction overlaps with nothing, is a small part;
// large enough for bandwidth.
enum class BucketRule : std::uint8_t {
  kFitting,   // ours: a sixteenth of what the rank has, within bounds; small models have as many buckets
  kMegatron,  // Megatron-LM's: first_bucket_of_megatron() in the model's first chunk, one bucket in others
  kOne,       // all parameters of a chunk: Megatron-LM without --overlap-grad-reduce
};
inline constexpr std::int64_t kMostBucketElements = 40'000'000;
inline constexpr std::int64_t kFewestBucketElements = 1'000'000;
inline constexpr std::int64_t kBucketsPerRank = 16;
inline constexpr std::int64_t kBucketsAsTheyFit = 0;  // as the rule says
// 40 million elements, or a million for each data-parallel rank where that is more: rings over many ranks need
// large messages.
std::int64_t first_bucket_of_megatron(std::int64_t ranks);

// When ranks that hold parts of updated parameters give them to each other.
enum class GatherTime : std::uint8_t {
  kAfterUpdate,
  kBeforeUse,  // in the forward pass of the step that follows, beside what is computed there
};

// What a program that trains decides; the plan says the rest.
struct LayoutRules {
  BucketRule rule = BucketRule::kFitting;
  std::int64_t bucket_elements = kBucketsAsTheyFit;  // in place of the rule's
  GatherTime gathers = GatherTime::kAfterUpdate;

  bool operator==(const LayoutRules&) const = default;
};

// What a full bucket depends on, besides the rules.
struct BucketsOf {
  std::int64_t elements = 0;  // all that the rank has, in all of its chunks
  std::int64_t ranks = 1;     // that reduce them
  bool first_chunk = false;   // of the model
};
std::int64_t full_bucket(const LayoutRules& rules, const BucketsOf& of);

// What a layout knows of a parameter.
struct LaidParameter {
  std::int64_t elements = 0;  // that a tensor-parallel rank has
  std::int64_t rows = 0;      // of these: the extent of the first axis
  bool decays = false;
  bool replicated = false;                    // every tensor-parallel rank has all of it
  bool tied = false;                          // another stage has it, too
  GroupKind reduced_over = GroupKind::kData;  // the ranks that have the same elements and other tokens
};

// Parameters of one bucket agree in it.
class BucketKind {
 public:
  static constexpr std::size_t kCount = 16;
  static constexpr BucketKind of(const LaidParameter& parameter) {
    return BucketKind{(parameter.reduced_over != GroupKind::kData ? 8u : 0u) | (parameter.decays ? 4u : 0u) |
                      (parameter.replicated ? 2u : 0u) | (parameter.tied ? 1u : 0u)};
  }
  constexpr explicit BucketKind(std::size_t index) : index_(index) {}
  constexpr std::size_t index() const { return index_; }
  constexpr bool replicated() const { return (index_ & 2u) != 0; }
  constexpr bool tied() const { return (index_ & 1u) != 0; }

 private:
  std::size_t index_;
};

// Counts buckets as they fill; allocates nothing.
class BucketFiller {
 public:
  struct Bucket {
    std::int64_t elements = 0, tensors = 0;
  };
  explicit BucketFiller(std::int64_t full) : full_(full) {}

  BucketKind put(const LaidParameter& parameter) {
    const BucketKind kind = BucketKind::of(parameter);
    Bucket& bucket = open_[kind.index()];
    bucket.elements += parameter.elements;
    ++bucket.tensors;
    return kind;
  }
  bool is_full(BucketKind kind) const { return open_[kind.index()].elements >= full_; }
  // The next parameter of this kind begins another bucket.
  Bucket take(BucketKind kind) { return std::exchange(open_[kind.index()], Bucket{}); }
  // At the end: visit(kind, bucket) for those that are not full.
  template <class Visit>
  void take_rest(Visit&& visit) {
    for (std::size_t i = 0; i < open_.size(); ++i)
      if (open_[i].tensors > 0) visit(BucketKind{i}, take(BucketKind{i}));
  }

 private:
  std::int64_t full_;
  std::array<Bucket, BucketKind::kCount> open_{};
};

// A parameter of a chunk, and the op of the chunk's graph that writes the last of its gradient.
struct ReadyParameter {
  LaidParameter parameter;
  std::uint32_t ready_after = 0;
  std::size_t chunk = 0;
};
// In the order of ChunkGraph::gradients. `split`: tensor-parallel ranks have parts; `tied_parameter`: one that
// another stage has, "" for none; `numbers_experts`: those of experts are reduced over ranks of their own.
struct ReadyParametersOf {
  bool split = false;
  std::string_view tied_parameter = {};
  bool numbers_experts = false;
};
std::vector<ReadyParameter> ready_parameters(const ChunkGraph& chunk, const ReadyParametersOf& of);

// What is the same for all parameters of a stage.
struct StageLayout {
  LayoutRules rules;
  std::array<std::int64_t, kGroupKindCount> ranks{};  // by kind of group that gradients may be reduced over
  bool splits_state = false;  // the optimizer's state, over the ranks that reduce its gradient: ZeRO stage 1
  bool partial = false;  // replicated parameters have gradients of each tensor-parallel rank's own tokens
  bool first_stage = false;

  std::int64_t ranks_over(GroupKind kind) const { return ranks[static_cast<std::size_t>(kind)]; }
};
StageLayout stage_layout(const LayoutRules& rules, const Plan& plan, std::int64_t stage);

struct ParameterBucket {
  struct Member {
    std::size_t parameter = 0;  // in the list that was laid out
    std::int64_t start = 0;     // first element in the bucket
  };
  std::vector<Member> members;  // as they lie in memory
  LaidParameter kind;           // any of them
  std::int64_t elements = 0;
  std::int64_t part = 0;  // elements that each rank keeps the optimizer's state of; 0: all of them
  std::size_t chunk = 0;
  std::uint32_t ready_after = 0;
  bool partial = false;  // summed over tensor-parallel ranks first
  bool at_end = false;   // not reduced before all backward passes are done: others sum them first
  // Buckets of one row lie one after the other, as one; all of a row that others take part in are alone.
  std::size_t row = 0;
};

// The layout of all chunks of a stage.
struct ParameterLayout {
  ParameterLayout(std::span<const ReadyParameter> parameters, const StageLayout& stage);

  std::vector<ParameterBucket> buckets;  // by chunk, then as they are ready; those that wait for the end last
  std::size_t rows = 0;

  // Buckets in the order in which forward passes need their parameters.
  std::vector<std::size_t> by_first_use() const;
};

// How ranks divide the elements of a tensor, or of a bucket of them.
enum class ShardForm : std::uint8_t {
  kFlat,  // equal parts of the whole bucket, padded at its end: ZeRO-1, Megatron-LM, DeepSpeed
  kRows,  // each tensor by its first axis, as many rows for each rank, fewer or none for the last ones: FSDP2
};
struct ShardedTensor {
  ShardForm form = ShardForm::kFlat;
  std::int64_t part = 0;      // kFlat: elements of the bucket, kRows: rows of the tensor, that each rank has
  std::int64_t start = 0;     // kFlat: of the tensor in its bucket
  std::int64_t elements = 0;  // of the tensor
  std::int64_t row = 1;       // kRows: elements of one
};
// One rank's elements [begin, end) of the tensor, none where these are equal; the first is element `at` of its
// variable.
struct ShardOfTensor {
  std::int64_t begin = 0, end = 0, at = 0;
  bool operator==(const ShardOfTensor&) const = default;
};
ShardOfTensor shard_of(const ShardedTensor& tensor, std::int64_t place);
struct PlacesInGroup {
  std::int64_t first = 0, end = 0;
};
PlacesInGroup holders_of(const ShardedTensor& tensor);  // those that have any of it

// Megatron-LM's flat buffer of a chunk: parameters from the last one of the model to the first, each start
// rounded up, cut into buckets that are rounded up for the ranks that divide them. A checkpoint has the buckets
// without the padding between them.
struct FlatBufferRules {
  std::int64_t ranks = 1;
  std::int64_t full = 0;      // elements of a full bucket; 0: one bucket
  bool wide_padding = false;  // --ddp-pad-buckets-for-high-nccl-busbw
};
struct FlatParameter {
  std::int64_t elements = 0;
  bool shared = false;  // word embeddings tied across stages have a bucket of their own
};
struct FlatBuffer {
  std::vector<std::int64_t> first = {};  // of each parameter
  std::int64_t elements = 0;             // "numel_unpadded"
  // Megatron itself loses so many elements of the shared parameter, whose bucket starts within the padding of
  // the one before: of models alone whose parameters do not have multiples of 128 elements.
  std::int64_t lost = 0;
};
FlatBuffer flat_buffer(std::span<const FlatParameter> parameters, const FlatBufferRules& rules);

}  // namespace nadi::inline describe
