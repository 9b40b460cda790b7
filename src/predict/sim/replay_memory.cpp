#include "nadi/sim/replay_memory.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "nadi/base/error.h"
#include "nadi/graph/value_lifetimes.h"
#include "nadi/parallel/program_memory.h"

namespace nadi::inline predict {
namespace {

std::string_view memory_name(Role role) {
  switch (role) {
    case Role::kParameter:
      return "parameters";
    case Role::kGradient:
      return "gradients";
    case Role::kOptimizerState:
      return "optimizer state";
    case Role::kActivation:
      return "activations";
    case Role::kInput:
      return "inputs";
    case Role::kConstant:
      return "constants";
    case Role::kCache:
      return "KV cache";
    case Role::kMetric:
      return "metrics";
    case Role::kCounter:
      return "counters";
  }
  unreachable();
}

}  // namespace

ReplayedMemory::ReplayedMemory(const Program& program) {
  std::array<Bytes, kRoleCount> by_role{};
  std::unordered_set<std::string_view> seen;
  for (const Graph& graph : program.graphs) {
    for (const Tensor& tensor : graph.tensors())
      if (tensor.producer == kNoOp && !tensor.shares_memory && seen.insert(tensor.name).second)
        by_role[static_cast<std::size_t>(tensor.role)] += tensor.size();
    add_graph(graph);
  }
  for (std::size_t role = 0; role < by_role.size(); ++role) {
    resident_ += by_role[role];
    if (by_role[role] > Bytes{})
      resident_parts_.push_back({std::string(memory_name(static_cast<Role>(role))), by_role[role]});
  }
  const ProgramMemory planned = plan_program_memory(program);
  reserved_ = planned.total;
  live_ = planned.live;
}

void ReplayedMemory::add_graph(const Graph& graph) {
  const std::size_t first = changes_.size();
  changes_.resize(first + graph.ops().size());
  // Views are not steps: what one of them needs last was needed by the op before.
  std::vector<std::uint32_t> step_at;
  for (std::uint32_t i = 0; i < graph.ops().size(); ++i) {
    const bool view = definition(graph.ops()[i].kind).op_class == OpClass::kView;
    step_at.push_back(view && i > 0 ? step_at.back() : i);
  }
  for (const Allocation& allocation : value_lifetimes(graph).allocations) {
    const std::uint32_t dies = std::max(allocation.born, step_at[allocation.dies]);
    const bool kept =
        graph.ops()[allocation.born].phase == Phase::kForward && graph.ops()[dies].phase != Phase::kForward;
    Change& birth = changes_[first + allocation.born];
    Change& death = changes_[first + dies];
    (kept ? birth.takes_kept : birth.takes) += allocation.size;
    (kept ? death.gives_kept : death.gives) += allocation.size;
  }
}

SimulatedMemory ReplayedMemory::resident_only(Bytes capacity) const {
  SimulatedMemory memory{.resident = resident_, .peak = resident_, .reserved = resident_ + reserved_};
  memory.capacity = capacity;
  return memory;
}

void ReplayedMemory::fill_peak(SimulatedMemory& memory, std::int64_t values, std::int64_t kept,
                               Nanoseconds at) const {
  memory.peak = resident_ + Bytes{values};
  memory.peak_at = at;
  memory.at_peak = resident_parts_;
  if (kept > 0) memory.at_peak.push_back({"activations kept for the backward pass", Bytes{kept}});
  if (values > kept) memory.at_peak.push_back({"values of the ops that run", Bytes{values - kept}});
  std::ranges::stable_sort(memory.at_peak, std::greater{}, &MemoryPart::size);
}

SimulatedMemory ReplayedMemory::over_time(const StageReplay& stage, std::span<const NodeTime> times,
                                          Bytes capacity, bool keep_points) const {
  struct Event {
    std::int64_t time;
    std::int64_t change, kept;
    // What is given back at a time is there for what is taken at that time.
    bool operator<(const Event& other) const {
      return time != other.time ? time < other.time : change < other.change;
    }
  };
  std::vector<Event> events;
  events.reserve(2 * times.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Change& change = changes_[stage.graph_ops[i]];
    if (change.takes + change.takes_kept > 0)
      events.push_back({times[i].start.count(), change.takes + change.takes_kept, change.takes_kept});
    if (change.gives + change.gives_kept > 0)
      events.push_back({times[i].end.count(), -(change.gives + change.gives_kept), -change.gives_kept});
  }
  std::sort(events.begin(), events.end());
  SimulatedMemory memory = resident_only(capacity);
  std::int64_t used = 0, kept = 0, most = -1, most_kept = 0, most_at = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    used += events[i].change;
    kept += events[i].kept;
    if (used > most) {
      most = used;
      most_kept = kept;
      most_at = events[i].time;
    }
    const Bytes total = resident_ + Bytes{used};
    if (capacity > Bytes{} && total > capacity && !memory.exceeded_at)
      memory.exceeded_at = Nanoseconds{events[i].time};
    const bool last_of_time = i + 1 == events.size() || events[i + 1].time != events[i].time;
    if (keep_points && last_of_time)
      memory.over_time.push_back({.time = Nanoseconds{events[i].time}, .used = total});
  }
  fill_peak(memory, std::max<std::int64_t>(most, 0), most_kept, Nanoseconds{most_at});
  if (capacity > Bytes{} && resident_ > capacity) memory.exceeded_at = Nanoseconds{};
  return memory;
}

SimulatedMemory ReplayedMemory::in_order(Bytes capacity) const {
  SimulatedMemory memory = resident_only(capacity);
  fill_peak(memory, live_.count(), 0, Nanoseconds{});
  if (capacity > Bytes{} && memory.peak > capacity) memory.exceeded_at = Nanoseconds{};
  return memory;
}

}  // namespace nadi::inline predict
