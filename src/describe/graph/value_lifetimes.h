// From when to when a graph needs the bytes of its values, before anybody decides where they are.
//
// Views take no bytes of their own. Where an op's definition allows it and nobody needs the input any more,
// its output takes over the input's bytes: both are one allocation, whose life is that of both. So are values
// with shared rows. What an all-gather sends lives until somebody reads what it makes. Variables, inputs and
// constants have no lifetime: they stay put for the whole step.
#pragma once

#include <cstdint>
#include <vector>

#include "nadi/graph/graph.h"
#include "nadi/graph/memory_plan.h"

namespace nadi::inline describe {

// Bytes that one value lives in, or several: one after the other, or beside each other in shared rows.
struct Allocation {
  std::int64_t size = 0;   // a multiple of the alignment
  std::uint32_t born = 0;  // number of the op that writes it first
  std::uint32_t dies = 0;  // and of the last that needs it
};

struct ValueLifetimes {
  std::vector<Allocation> allocations;      // in order of birth
  std::vector<std::int32_t> allocation_of;  // by tensor: -1 for those outside of the arena
  std::vector<std::int64_t> offset_within;  // by tensor: bytes from the begin of its allocation
};

ValueLifetimes value_lifetimes(const Graph& graph, const PlacementRules& rules = {});

// By tensor: the one that a view is of, or the tensor itself.
std::vector<std::uint32_t> view_roots(const Graph& graph);

}  // namespace nadi::inline describe
