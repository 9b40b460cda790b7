// The chunks that differ in their micro-batches alone: one graph for all sizes of them, whether there is one
// or there are several, and what these have in common, worked out once.
//
//   ChunkFamily family(config, key);                       // of which of_family(key) counts
//   family.cost(4)->sizes.slot                             // of four sequences at a time
//   family.graph({.size = 4, .accumulates = true}).graph   // as build_chunk() has it
//
// A graph is built with a number of sequences that shows in every extent which depends on it
// (graph_batch.h). Which values are kept, how long they live and what is resident is the same for all sizes;
// what they take is not. All figures equal those of a graph that is built for the size. Sizes whose values
// are multiples of each other have the same arena in other units, which is played once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "nadi/graph/graph_batch.h"
#include "nadi/graph/value_lifetimes.h"
#include "nadi/parallel/chunk_cost.h"
#include "nadi/parallel/chunk_graph.h"

namespace nadi::inline describe {

// What chunks of a family differ in.
struct MicroBatchForm {
  std::int64_t size = 1;     // sequences
  bool accumulates = false;  // gradients and loss, as in ChunkKey

  auto operator<=>(const MicroBatchForm&) const = default;
};

// The key of a chunk as its family has it: for one sequence of several micro-batches.
ChunkKey of_family(ChunkKey key);

class ChunkFamily {
 public:
  ChunkFamily(const ModelConfig& config, const ChunkKey& key);

  const ChunkKey& key() const { return key_; }  // as of_family() has it

  // Stays where it is. nullptr: the graph cannot be taken apart, so every number of layers must be built.
  // Memory does not depend on whether gradients are accumulated.
  const ChunkCost* cost(std::int64_t micro_batch_size);
  // The arena of so many layers; `pipelined`: where what is kept lies in slots. nullopt means build the chunk as
  // it is.
  struct ArenaRequest {
    std::int64_t micro_batch_size = 1;
    std::int64_t layers = 0;
    bool pipelined = false;
  };
  std::optional<ArenaNeed> arena(const ArenaRequest& request);
  const ChunkWork& work(const MicroBatchForm& form);

  // Until the next call: there is one graph. A caller who takes it out, to put it into a program, puts it
  // back.
  ChunkGraph& graph(const MicroBatchForm& form);
  // As it was built, and what a number that was taken from it is at a size.
  MicroBatchForm built_form() const { return {.size = batch_.built_with(), .accumulates = true}; }
  std::int64_t scaled(std::int64_t number, std::int64_t micro_batch_size) const {
    return batch_.scaled(number, micro_batch_size);
  }

  // By op, where the key is kRepeated; empty means it cannot be taken apart.
  const std::vector<Piece>& pieces() const { return pieces_; }
  // As their gradients become ready.
  const std::vector<ReadyParameter>& parameters() const { return parameters_; }

 private:
  struct Held {
    TensorId tensor{};
    std::int64_t block = -1;
    bool inner = false;
  };
  struct ScaledArena {
    RepeatedMemory* memory = nullptr;
    std::int64_t unit = 1;  // bytes
  };
  // What is in the arena. Worked out when it is first asked for.
  struct Arena {
    std::vector<char> elsewhere = {};  // by tensor
    bool found = false;
    std::vector<TensorId> values = {};                 // by allocation: one that has its size
    RepeatedMemory memory = {};                        // with sizes as built
    std::map<std::int64_t, ScaledArena> of_size = {};  // of micro-batches
    // By sizes, in units of the largest that divides all of them.
    std::map<std::vector<std::int64_t>, std::unique_ptr<RepeatedMemory>> known = {};
  };

  bool is_inner(std::int64_t block) const;
  void find_tensors();
  void find_memory();
  void find_values(Arena& arena) const;
  ScaledArena resized(Arena& arena) const;  // for the graph as it is now
  ChunkCost made(std::int64_t micro_batch_size);
  ChunkWork worked(const MicroBatchForm& form);

  ChunkKey key_;
  ChunkGraph chunk_;
  GraphBatch batch_;
  MicroBatchForm now_;  // that the graph has
  bool repeated_ = false;
  std::vector<Piece> pieces_;
  std::vector<ReadyParameter> parameters_;
  std::vector<Held> resident_, in_slot_, kept_;
  std::vector<std::pair<TensorId, ChunkCost::Ring>> rings_;
  std::vector<std::uint32_t> root_;  // by tensor: view_roots()
  bool has_loss_ = false;
  Arena whole_, pipelined_;
  std::map<std::int64_t, ChunkCost> costs_;
  std::map<MicroBatchForm, ChunkWork> works_;
};

}  // namespace nadi::inline describe
