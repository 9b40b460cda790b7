// The chunks that differ in the size of their micro-batches alone: one graph for all of them, and what the
// sizes have in common, worked out once.
//
//   ChunkFamily family(config, key);                       // key.micro_batch_size is of no account
//   family.cost(4)->sizes.slot                             // of four sequences at a time
//   family.graph(4).graph                                  // as build_chunk() has it
//
// A graph is built with a number of sequences that shows in every extent which depends on it
// (graph_batch.h). Which values are kept, how long they live and what is resident is the same for all sizes;
// what they take is not. All figures equal those of a graph that is built for the size.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "nadi/graph/graph_batch.h"
#include "nadi/graph/value_lifetimes.h"
#include "nadi/parallel/chunk_cost.h"
#include "nadi/parallel/chunk_graph.h"

namespace nadi {

class ChunkFamily {
 public:
  ChunkFamily(const ModelConfig& config, const ChunkKey& key);

  const ChunkKey& key() const { return key_; }  // of micro-batches of one sequence

  // Stays where it is. nullptr: the graph cannot be taken apart, so every number of layers must be built.
  ChunkCost* cost(std::int64_t micro_batch_size);
  const ChunkWork& work(std::int64_t micro_batch_size);

  // Until the next call: there is one graph. A caller who takes it out, to put it into a program, puts it
  // back.
  ChunkGraph& graph(std::int64_t micro_batch_size);
  // As it was built, and what a number that was taken from it is at a size.
  ChunkGraph& built() { return graph(batch_.built_with()); }
  std::int64_t scaled(std::int64_t number, std::int64_t micro_batch_size) const {
    return batch_.scaled(number, micro_batch_size);
  }

  // By op, where the key is kRepeated; empty: it cannot be taken apart.
  const std::vector<Piece>& pieces() const { return pieces_; }
  // As their gradients become ready.
  const std::vector<ReadyParameter>& parameters() const { return parameters_; }

 private:
  struct Held {
    TensorId tensor{};
    std::int64_t block = -1;
    bool inner = false;
  };
  // What is in the arena.
  struct Arena {
    std::vector<TensorId> values = {};  // by allocation: one that has its size
    RepeatedMemory memory = {};         // with sizes as built
  };

  bool is_inner(std::int64_t block) const;
  void find_tensors();
  void find_memory();
  Arena arena_of(const std::vector<std::uint32_t>& root, std::vector<char> elsewhere) const;
  ChunkCost made(std::int64_t micro_batch_size);
  ChunkWork worked(std::int64_t micro_batch_size);

  ChunkKey key_;
  ChunkGraph chunk_;
  GraphBatch batch_;
  std::int64_t size_ = 0;  // that the graph has now
  bool repeated_ = false;
  std::vector<Piece> pieces_;
  std::vector<ReadyParameter> parameters_;
  std::vector<Held> resident_, in_slot_, kept_;
  std::vector<std::pair<TensorId, ChunkCost::Ring>> rings_;
  bool has_loss_ = false;
  Arena whole_, pipelined_;
  std::map<std::int64_t, ChunkCost> costs_;
  std::map<std::int64_t, ChunkWork> works_;
};

}  // namespace nadi
