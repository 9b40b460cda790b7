// Where the values of a program live, decided before anything runs: what an engine allocates, and what is
// printed as the memory prediction.
//
// With one micro-batch in flight, all graphs use one arena, one after the other. With several in flight
// (pipelines), values that cross from one section of a graph to another stay in the slot of the micro-batch;
// the other values share one arena, in which one section runs at a time. The slots are behind the arena.
//
// A value may be received from another stage before the slot of its micro-batch is free. Such values have a
// ring buffer with an entry for each micro-batch in flight, used from the receive to the last read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/graph/memory_plan.h"
#include "nadi/parallel/chunk_graph.h"
#include "nadi/parallel/program.h"

namespace nadi::inline describe {

struct ProgramMemory {
  // Places for one received tensor: micro-batch m has place m % places.
  struct Ring {
    TensorId tensor = kNoTensor;
    std::int64_t places = 1;
    Bytes first;   // where the first begins, behind the arena and the slots
    Bytes stride;  // to the next
  };
  struct OfGraph {
    MemoryPlan plan;            // of what is in the arena
    std::vector<char> in_slot;  // by tensor: whether it has a place in the slot; empty means none has
    // By tensor: byte offset in the arena, or in the slot, or MemoryPlan::kOutsideArena: also of those in
    // rings.
    std::vector<std::int64_t> offsets;
    Bytes slot;  // size of one
    std::int64_t slots = 1;
    Bytes first_slot;  // where the first begins, behind the arena
    std::vector<Ring> rings = {};
  };
  std::vector<OfGraph> graphs;  // as in the program
  Bytes arena;                  // shared part
  Bytes total;                  // with all slots and rings
  Bytes live;                   // the most that is alive at once; the arena may have gaps
  std::int64_t slots = 1;       // micro-batches under way at once, summed over chunks
};

// What a device adds: engines decide it before they plan.
struct MemoryOptions {
  std::int64_t alignment = kArenaAlignment;  // of all places: a power of two
  // By graph and tensor: values that have no memory, since they never leave a kernel; empty means none.
  std::vector<std::vector<char>> without_memory = {};
  // By graph, as in PlacementRules; empty means none.
  std::vector<std::vector<std::int64_t>> padded_sizes = {};
  std::vector<std::vector<SharedRows>> shared_rows = {};
  std::vector<std::vector<PlacementRules::Kernel>> kernels = {};
};

ProgramMemory plan_program_memory(const Program& program, const MemoryOptions& options = {});

// What the plan rests on, also used where a plan's memory is computed without its program (chunk_cost.h).

// By tensor: whether a value (not a view) is used in another pass than the one that makes it.
std::vector<char> crossing_values(const Graph& graph, std::span<const OpSpan> passes);

// From when to when a received tensor is needed: any numbers that grow with time.
struct RingStay {
  std::size_t first = 0;
  std::size_t last = 0;
};
// The fewest places with which no tensor arrives where an earlier one is still read. One stay per
// micro-batch, in the order of their arrival.
std::int64_t places_for(std::span<const RingStay> stays);

}  // namespace nadi::inline describe
