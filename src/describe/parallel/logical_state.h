// Maps the variables of the ranks of a plan to the tensors of the whole model: which elements of which tensor
// are on which rank, and which rank writes them. A checkpoint therefore has the same files under every
// plan.
//
//   const LogicalState state(config, plan, stages);                  // programs of all stages
//   for (const LogicalPiece& piece : state.held_by(rank))            // to load
//     piece.each_run(0, elements, [&](const ElementRun& run) { read(piece.variable, run); });
//   for (const LogicalWriter& writer : state.writers(tensor))        // to save: every element exactly once
//     ...
//
// Whole tensors have the names and shapes of the model on one rank: parameters, optimizer state
// ("<parameter>.m") and metrics. What differs from that in a plan:
//   - tensor parallelism: a variable is a part of its whole along one axis
//   - a vocabulary that does not divide over the ranks is padded: padding is part of no whole tensor
//   - ZeRO: optimizer state is kept by bucket of parameters, and a rank has a slice of the flat bucket, which
//     begins and ends within parameters
//   - copies: data-parallel ranks, whatever tensor parallelism does not split, embeddings tied across stages.
//     The first rank that has a copy writes it.
//
// A piece is a block of runs of equal length at equal distances, so that a tensor has a few pieces, not one
// per row. Pieces are made on request. Cost of construction: a pass over the tensors of the programs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nadi/graph/tensor.h"
#include "nadi/model/model_config.h"
#include "nadi/parallel/parameter_layout.h"
#include "nadi/parallel/plan.h"
#include "nadi/parallel/program.h"

namespace nadi::inline describe {

// Elements that follow each other in the variable and in the whole tensor.
struct ElementRun {
  std::int64_t local = 0;  // index of the first one in the rank's variable
  std::int64_t whole = 0;  // and in the whole tensor
  std::int64_t count = 0;
};

struct ElementBlock {
  ElementRun first = {};
  std::int64_t runs = 1;
  std::int64_t local_stride = 0;  // from one run to the next: not less than the run's count
  std::int64_t whole_stride = 0;

  ElementRun run(std::int64_t i) const {
    return {first.local + i * local_stride, first.whole + i * whole_stride, first.count};
  }
};

struct LogicalTensor {
  std::string name;
  Shape shape = {};
  DType dtype = DType::kF32;
  Role role = Role::kParameter;
};

// What one rank has of a whole tensor.
struct LogicalPiece {
  std::size_t tensor = 0;  // in LogicalState::tensors()
  std::string variable = {};
  bool writes = false;  // whether this rank writes the piece to a checkpoint
  std::vector<ElementBlock> blocks = {};

  std::int64_t elements() const;

  // Calls visit(ElementRun) for the elements with whole indices in [begin, end), in an order that depends on
  // the piece and the bounds only: sender and receiver of a piece agree on it.
  template <class Visit>
  void each_run(std::int64_t begin, std::int64_t end, Visit&& visit) const;
  std::int64_t elements(std::int64_t begin, std::int64_t end) const;  // how many those are
};

struct LogicalWriter {
  Rank rank{};
  LogicalPiece piece;
};

class LogicalState {
 public:
  // `stages`: the program of each stage of the plan, in order; none of them is kept.
  LogicalState(const ModelConfig& config, const Plan& plan, std::span<const Program* const> stages);

  // In the order in which the stages' programs bring them.
  std::span<const LogicalTensor> tensors() const { return tensors_; }

  // In the order of the program of the rank's stage: one piece of every tensor that the stage has, several of
  // one variable where that is a slice of a bucket. A piece may be empty: a rank may have nothing but padding
  // of a tensor, and a slice nothing of most tensors of its bucket.
  std::vector<LogicalPiece> held_by(Rank rank) const;

  // By rank; their pieces are all elements of the tensor, each once.
  std::vector<LogicalWriter> writers(std::size_t tensor) const;

 private:
  // Where the ranks of one stage have a tensor.
  struct Holding {
    std::size_t tensor = 0;
    std::string variable = {};
    Shape local = {};  // what a tensor-parallel rank has of it, all slices together
    std::vector<Shard> shards = {};
    std::int64_t start = 0;  // of one expert among those of the variable; elsewhere 0
    // Where experts have ranks of their own: the place of those that have this one among expert-parallel ranks.
    std::optional<std::int64_t> expert_rank = {};
    std::optional<ShardedTensor> sharded = {};  // ZeRO
    bool first = false;                         // no stage before this one has it
  };
  // Parameters of the model on one rank, where the vocabulary is padded; else nothing.
  using WholeShapes = std::map<std::string, Shape>;

  void add_stage(const Program& program, const WholeShapes& unpadded);
  void add_bucket(const Graph& graph, const Tensor& state, const Tensor& bucket, const WholeShapes& unpadded);
  void add(const LogicalTensor& tensor, const Holding& holding);
  void add_one(LogicalTensor tensor, Holding holding);
  LogicalPiece piece(const Holding& holding, Rank rank) const;
  static GroupKind copies_of(const Holding& holding);  // the ranks that hold the same
  std::vector<Rank> first_holders(const Holding& holding, std::int64_t stage) const;

  Plan plan_;
  std::vector<LogicalTensor> tensors_;
  std::map<std::string, std::size_t> by_name_;
  std::vector<std::vector<Holding>> stages_;
  struct Writing {
    std::size_t stage = 0;
    std::size_t holding = 0;
  };
  std::vector<Writing> writing_;  // by tensor
};

template <class Visit>
void LogicalPiece::each_run(std::int64_t begin, std::int64_t end, Visit&& visit) const {
  for (const ElementBlock& block : blocks) {
    const std::int64_t from = begin - block.first.whole, to = end - block.first.whole;
    if (to <= 0) continue;
    // Runs i with i * stride + count > from and i * stride < to.
    const std::int64_t i_first =
        from < block.first.count ? 0 : (from - block.first.count) / block.whole_stride + 1;
    const std::int64_t i_end = std::min(block.runs, (to - 1) / block.whole_stride + 1);
    for (std::int64_t i = i_first; i < i_end; ++i) {
      ElementRun run = block.run(i);
      const std::int64_t cut = std::max<std::int64_t>(0, begin - run.whole);
      const std::int64_t kept = std::min(end, run.whole + run.count) - run.whole - cut;
      visit(ElementRun{run.local + cut, run.whole + cut, kept});
    }
  }
}

}  // namespace nadi::inline describe
