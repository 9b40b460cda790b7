// What follows the backward passes, without building it: buckets of gradients that are reduced, the
// optimizer, and the zeroing of gradients. What gradient_reduction.h builds, as costs.
//
// Each kind of op costs a part that is fixed, a part per tensor and parts per element. These are taken once
// from ops that are built for it, when they are first asked for, so a change of an op's definition carries
// over.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nadi/graph/optimizer.h"
#include "nadi/parallel/chunk_cost.h"
#include "nadi/parallel/repeated_memory.h"
#include "nadi/parallel/step_work.h"

namespace nadi::inline describe {

// All that the costs depend on, besides the chunks.
struct ReductionKey {
  bool reduces = false;       // several ranks hold the same parameters
  bool splits_model = false;  // several ranks hold a copy of the model together
  bool zero = false;          // the optimizer's state is split over the ranks that hold the same parameters
  bool partial = false;       // replicated parameters have gradients of each rank's own tokens
  bool last_stage = false;
  DType dtype = DType::kF32;
  OptimizerOptions optimizer = {};

  bool operator==(const ReductionKey& other) const;
};

struct ReductionMemory {
  std::array<Bytes, kRoleCount> resident{};  // state of the optimizer
  ArenaNeed arena;
};
struct ReductionCost {
  StepWork work;
  ReductionMemory memory;
};

// A bucket to measure an op with.
struct BucketSample {
  std::int64_t tensors = 1;
  std::int64_t elements = 0;
  std::int64_t ranks = 2;
};

// Not thread-safe.
class ReductionCosts {
 public:
  explicit ReductionCosts(const ReductionKey& key);

  const ReductionKey& key() const { return key_; }
  // Inputs and metrics, by name: a chunk may have the same.
  const std::vector<ChunkCost::Shared>& shared() const { return shared_; }

  struct Chunk {
    const ChunkCost* cost = nullptr;
    std::int64_t more_units = 0;
  };
  struct Request {
    std::int64_t data_ranks = 1;  // that hold the same parameters
    LayoutRules rules = {};
    bool first_stage = false;
    bool clears = false;  // the gradients are sums over micro-batches and start from zero
  };
  ReductionCost of(std::span<const Chunk> chunks, const Request& request) const;
  ReductionMemory memory(std::span<const Chunk> chunks, const Request& request) const;  // that of of()

 private:
  using Measure = std::function<StepWork(const BucketSample&)>;
  // The cost of an op over the tensors of a bucket, of which a data-parallel rank owns a part.
  struct OpLine {
    WorkEntry fixed, per_tensor, per_element, per_part;
    StepMessage message = {};
    std::int64_t sent_per_element = 0, sent_per_part = 0;  // bytes
  };
  struct Amount {
    std::int64_t ops = 0, tensors = 0, elements = 0, parts = 0;
  };
  struct Sums;
  static constexpr std::int64_t kNormParts = 4;
  struct Lines {
    OpLine tensor_reduce, embedding_reduce, data_reduce, scatter, gather, norm, update, clear;
    // The optimizer without updates, whose norm has 0, 1, 2 or 3 parts of one element.
    std::array<StepWork, kNormParts> base;
  };

  const Lines& lines() const;
  Lines made_lines() const;
  ArenaNeed arena(std::int64_t norm_parts, bool updates) const;
  Sums sums_of(std::span<const Chunk> chunks, const Request& request, const Lines* lines) const;
  ReductionMemory memory_of(const Sums& sums) const;
  static OpLine line_of(const Measure& measure);
  static OpLine per_tensor_line(const Measure& measure);
  Graph optimizer_graph(std::int64_t norm_parts, std::int64_t updated) const;
  std::array<Bytes, kRoleCount> state_of(std::int64_t elements) const;
  static void add_line(StepWork& work, const OpLine& line, const Amount& amount);
  void add_bucket(Sums& sums, BucketKind kind, const BucketFiller::Bucket& bucket) const;

  ReductionKey key_;
  std::vector<ChunkCost::Shared> shared_;
  // Made when they are first asked for.
  mutable std::optional<Lines> lines_;
  mutable std::array<std::array<std::optional<ArenaNeed>, 2>, kNormParts> arena_;  // without and with updates
  std::array<Bytes, kRoleCount> state_per_update_{}, state_per_element_{};
};

}  // namespace nadi::inline describe
