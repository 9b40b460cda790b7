// The plain interpreter of step graphs: ops one after the other, naive loops, double precision. It is the
// oracle that every other engine is tested against, and where a newcomer starts reading.
//
//   ReferenceStore store;
//   store.set("x", {...});                       // every input
//   initialize(graph, store, 1);                 // every variable and constant
//   run_reference(graph, store);
//   store.get("loss")
//
// Nothing is rounded: a bf16 tensor holds doubles, cast changes no value, and quantize_fp8 keeps values as
// they are with a scale of 1. All values of a run stay in memory until it ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "nadi/graph/graph.h"
#include "nadi/reference/reference_store.h"

namespace nadi::inline engines {

// The values (tensors that are no variables) of one pass over a graph, by TensorId; empty before they are
// computed. Given to the tasks that run parts of one graph for the same micro-batch, it carries what the
// first part made to the next; afterwards a test can look into it.
struct ReferenceSlot {
  std::vector<Doubles> values;
  const Doubles& operator[](TensorId id) const { return values[index(id)]; }
};

struct OpRange {
  std::size_t first = 0;
  std::size_t end = std::numeric_limits<std::size_t>::max();  // or the number of ops, where that is less
};

// Ops to run, one after the other.
struct ReferenceTask {
  const Graph* graph = nullptr;
  OpRange ops = {};
  ReferenceSlot* slot = nullptr;           // a fresh one when absent
  const ReferenceStore* inputs = nullptr;  // looked at before the store, for inputs: those of a micro-batch
};

// Gives every variable and constant of the graph that the store lacks its first value. Normal numbers are
// those of {seed, step 0, site_of(tensor's name)} by element index (base/random.h). A copy takes what the
// store holds for its source, so that masters follow parameters that were loaded.
//
// A tensor that is part of a whole gets that part of the whole tensor's numbers; `place` says where in each
// group the rank stands.
void initialize(const Graph& graph, ReferenceStore& store, std::uint64_t seed,
                const PlaceInGroup& place = {});

// Reads inputs, constants and variables from the store and writes variables to it. A tensor that is missing
// or has another number of elements than its shape is an Error (input) that names it. Communication of a
// group of one rank changes nothing; any other is an Error: see lockstep.h.
void run_reference(const ReferenceTask& task, ReferenceStore& store);
void run_reference(const Graph& graph, ReferenceStore& store);

}  // namespace nadi::inline engines
