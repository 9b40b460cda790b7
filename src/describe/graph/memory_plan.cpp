// Method: walks the ops in order and gives each new allocation the smallest free gap that holds it (best
// fit), growing the arena when there is none. Cost: O(values * gaps), and gaps are few.

#include "nadi/graph/memory_plan.h"

#include <algorithm>

#include "nadi/base/round_up.h"
#include "nadi/graph/arena.h"
#include "nadi/graph/value_lifetimes.h"

namespace nadi::inline describe {

Bytes aligned_size(Bytes size, std::int64_t alignment) {
  return Bytes{std::max<std::int64_t>(rounded_up(size.count(), alignment), alignment)};
}

MemoryPlan plan_memory(const Graph& graph, const PlacementRules& rules) {
  const ValueLifetimes lifetimes = value_lifetimes(graph, rules);
  const std::vector<Allocation>& allocations = lifetimes.allocations;
  MemoryPlan plan;
  std::vector<std::vector<std::uint32_t>> dying(graph.ops().size());
  for (std::uint32_t a = 0; a < allocations.size(); ++a) dying[allocations[a].dies].push_back(a);

  ValueArena arena;
  std::vector<std::int64_t> offset_of(allocations.size());
  std::int64_t live = 0, peak = 0;
  std::size_t next = 0;  // allocations are in order of birth
  plan.live.reserve(graph.ops().size());
  for (std::uint32_t i = 0; i < graph.ops().size(); ++i) {
    for (; next < allocations.size() && allocations[next].born == i; ++next) {
      offset_of[next] = arena.take(allocations[next].size);
      live += allocations[next].size;
    }
    plan.live.push_back(Bytes{live});
    if (live > peak) {
      peak = live;
      plan.peak_op = OpId{i};
    }
    for (const std::uint32_t dead : dying[i]) {
      arena.give_back(offset_of[dead], allocations[dead].size);
      live -= allocations[dead].size;
    }
  }
  plan.arena = Bytes{arena.size()};
  plan.peak = Bytes{peak};
  plan.offsets.assign(graph.tensors().size(), MemoryPlan::kOutsideArena);
  for (std::size_t t = 0; t < plan.offsets.size(); ++t)
    if (const std::int32_t allocation = lifetimes.allocation_of[t]; allocation >= 0)
      plan.offsets[t] = offset_of[allocation] + lifetimes.offset_within[t];
  return plan;
}

}  // namespace nadi::inline describe
