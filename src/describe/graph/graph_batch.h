// A graph that is built once and serves for every number of sequences, and for one micro-batch as for
// several.
//
//   Graph graph = ...;                           // built with a batch of GraphBatch::kPrimes[0] sequences
//   GraphBatch batch(graph, GraphBatch::kPrimes[0]);
//   batch.set(graph, 4);                         // now it is the graph of four sequences
//   batch.set_accumulating(graph, false);        // that overwrites the gradients and the loss of the last
//   step
//
// All that depends on the batch is proportional to it: extents of tensors, and attributes that are extents.
// The graph is built with a prime that no other extent is a multiple of, so those that are multiples of it
// are the ones which follow the batch. Names, ops and their order do not depend on the batch. With several
// micro-batches, the first op that writes a gradient or the loss adds to it, too; all else is the same.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "nadi/graph/graph.h"

namespace nadi::inline describe {

class GraphBatch {
 public:
  // To build with: large enough that no model is likely to have one as a factor of a width, and so small that
  // the bytes of any tensor still are a 64-bit number. The first that does not divide the model's own sizes.
  static constexpr std::array<std::int64_t, 3> kPrimes{104'729, 224'737, 350'377};

  GraphBatch() = default;
  // The graph as it was built.
  GraphBatch(const Graph& graph, std::int64_t built_with);

  // A variable follows the batch: the prime divides an extent of the model, and another one must be taken.
  bool is_ambiguous() const { return ambiguous_; }

  std::int64_t built_with() const { return built_with_; }
  void set(Graph& graph, std::int64_t sequences) const;
  // For a graph that was built for several micro-batches.
  void set_accumulating(Graph& graph, bool accumulates) const;

  // Scales a number that was taken from the graph as it was built: bytes, elements.
  std::int64_t scaled(std::int64_t number, std::int64_t sequences) const {
    return number % built_with_ == 0 ? number / built_with_ * sequences : number;
  }

 private:
  struct Extent {
    std::uint32_t tensor = 0;
    std::int32_t axis = 0;
    std::int64_t per_sequence = 0;
  };
  struct Setting {
    std::uint32_t op = 0;
    std::uint32_t entry = 0;  // of its attributes
    std::uint32_t place = 0;  // of a list
    std::int64_t per_sequence = 0;
  };
  struct Written {
    std::uint32_t op = 0, output = 0;
  };
  std::int64_t built_with_ = 1;
  bool ambiguous_ = false;
  std::vector<Extent> extents_;
  std::vector<Setting> settings_;
  std::vector<Written> first_sums_;  // the first writes of variables that are added to
};

}  // namespace nadi::inline describe
