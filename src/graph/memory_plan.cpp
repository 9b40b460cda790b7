// Method: one pass over the ops finds the first and last use of every value; a second walks the ops in order
// and gives each new value the smallest free gap that holds it (best fit), growing the arena when there is
// none. Cost: O(values * log gaps). A value in place of another shares its allocation, whose life is then
// that of both. What an all-gather sends lives until somebody reads what it makes.

#include "nadi/graph/memory_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "nadi/base/error.h"
#include "nadi/base/round_up.h"
#include "nadi/graph/op_definition.h"

namespace nadi {
namespace {

constexpr std::uint32_t kNever = 0xffffffff;

// A piece of the arena that one value, or several one after the other, live in.
struct Allocation {
  std::int64_t size = 0;
  std::uint32_t born = kNever;
  std::uint32_t dies = 0;
};

std::int64_t aligned(std::int64_t size, std::int64_t alignment) {
  return std::max<std::int64_t>(rounded_up(size, alignment), alignment);
}

// Free gaps of a growing arena.
class Arena {
 public:
  std::int64_t take(std::int64_t size) {
    const auto gap = by_size_.lower_bound({size, 0});
    if (gap == by_size_.end()) return grow(size);
    const auto [gap_size, offset] = *gap;
    remove(offset, gap_size);
    if (gap_size > size) insert(offset + size, gap_size - size);
    return offset;
  }

  void give_back(std::int64_t offset, std::int64_t size) {
    const auto after = by_offset_.lower_bound(offset);
    if (after != by_offset_.end() && after->first == offset + size) {
      const std::int64_t extra = after->second;
      remove(offset + size, extra);
      size += extra;
    }
    const auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        const auto [start, extra] = *before;
        remove(start, extra);
        offset = start;
        size += extra;
      }
    }
    insert(offset, size);
  }

  std::int64_t size() const { return size_; }

 private:
  // Takes a free gap at the end along, so that growing never leaves a hole there.
  std::int64_t grow(std::int64_t size) {
    std::int64_t offset = size_;
    if (!by_offset_.empty()) {
      const auto [start, extra] = *by_offset_.rbegin();
      if (start + extra == size_) {
        remove(start, extra);
        offset = start;
      }
    }
    size_ = offset + size;
    return offset;
  }
  void insert(std::int64_t offset, std::int64_t size) {
    by_offset_.emplace(offset, size);
    by_size_.emplace(size, offset);
  }
  void remove(std::int64_t offset, std::int64_t size) {
    by_offset_.erase(offset);
    by_size_.erase({size, offset});
  }

  std::map<std::int64_t, std::int64_t> by_offset_;
  std::set<std::pair<std::int64_t, std::int64_t>> by_size_;
  std::int64_t size_ = 0;
};

class Planner {
 public:
  Planner(const Graph& graph, const std::vector<char>& elsewhere, std::int64_t alignment)
      : graph_(graph), elsewhere_(elsewhere), alignment_(alignment), root_(graph.tensors().size()) {}

  MemoryPlan run() {
    find_roots();
    find_last_uses();
    make_allocations();
    return place();
  }

 private:
  bool in_arena(std::size_t tensor) const {
    return graph_.tensors()[tensor].producer != kNoOp && (elsewhere_.empty() || elsewhere_[tensor] == 0);
  }

  void find_roots() {
    for (std::size_t t = 0; t < root_.size(); ++t) root_[t] = t;
    for (const Op& op : graph_.ops()) {
      if (definition(op.kind).op_class != OpClass::kView) continue;
      for (const OpOutput& output : op.outputs) root_[index(output.tensor)] = root_[index(op.inputs[0])];
    }
  }

  void find_last_uses() {
    last_use_.assign(root_.size(), 0);
    // By root of what an all-gather makes, until somebody reads it: the root of what it sends.
    std::unordered_map<std::size_t, std::size_t> sending;
    for (std::uint32_t i = 0; i < graph_.ops().size(); ++i) {
      const Op& op = graph_.ops()[i];
      const bool view = definition(op.kind).op_class == OpClass::kView;
      for (const TensorId input : op.inputs) {
        if (input == kNoTensor) continue;
        const std::size_t root = root_[index(input)];
        last_use_[root] = i;
        if (view) continue;
        if (const auto sent = sending.find(root); sent != sending.end()) {
          last_use_[sent->second] = i;
          sending.erase(sent);
        }
      }
      for (const OpOutput& output : op.outputs) last_use_[root_[index(output.tensor)]] = i;
      // It is started and goes on while others compute: who took over its input's bytes would have to wait.
      if (op.kind == OpKind::kAllGather)
        sending[root_[index(op.outputs[0].tensor)]] = root_[index(op.inputs[0])];
    }
  }

  // The tensor whose bytes output 0 of the op may take over, if any.
  std::optional<std::size_t> in_place_of(const Op& op, std::uint32_t at) const {
    const int candidate = definition(op.kind).in_place_input;
    if (candidate < 0 || op.inputs[candidate] == kNoTensor) return std::nullopt;
    const std::size_t input = index(op.inputs[candidate]);
    const std::size_t root = root_[input];
    const std::size_t output = index(op.outputs[0].tensor);
    if (!in_arena(root) || !in_arena(output) || last_use_[root] != at) return std::nullopt;
    // A view of a part, or a permuted one, has its elements elsewhere than the output would.
    if (input != root || graph_.tensors()[root].size() != graph_.tensors()[output].size())
      return std::nullopt;
    for (std::size_t i = 0; i < op.inputs.size(); ++i)
      if (static_cast<int>(i) != candidate && op.inputs[i] != kNoTensor && root_[index(op.inputs[i])] == root)
        return std::nullopt;
    return root;
  }

  void make_allocations() {
    allocation_of_.assign(root_.size(), -1);
    for (std::uint32_t i = 0; i < graph_.ops().size(); ++i) {
      const Op& op = graph_.ops()[i];
      if (definition(op.kind).op_class == OpClass::kView) continue;
      for (std::size_t k = 0; k < op.outputs.size(); ++k) {
        const std::size_t tensor = index(op.outputs[k].tensor);
        if (!in_arena(tensor)) continue;
        if (const auto taken = k == 0 ? in_place_of(op, i) : std::nullopt) {
          allocation_of_[tensor] = allocation_of_[*taken];
        } else {
          allocation_of_[tensor] = static_cast<std::int64_t>(allocations_.size());
          allocations_.push_back({.size = aligned(graph_.tensors()[tensor].size().count(), alignment_), .born = i});
        }
        Allocation& allocation = allocations_[allocation_of_[tensor]];
        allocation.dies = std::max(allocation.dies, last_use_[tensor]);
      }
    }
  }

  MemoryPlan place() {
    MemoryPlan plan;
    std::vector<std::vector<std::size_t>> dying(graph_.ops().size());
    for (std::size_t a = 0; a < allocations_.size(); ++a) dying[allocations_[a].dies].push_back(a);

    Arena arena;
    std::vector<std::int64_t> offset_of(allocations_.size());
    std::int64_t live = 0, peak = 0;
    std::size_t next = 0;  // allocations are in order of birth
    plan.live.reserve(graph_.ops().size());
    for (std::uint32_t i = 0; i < graph_.ops().size(); ++i) {
      for (; next < allocations_.size() && allocations_[next].born == i; ++next) {
        offset_of[next] = arena.take(allocations_[next].size);
        live += allocations_[next].size;
      }
      plan.live.push_back(Bytes{live});
      if (live > peak) {
        peak = live;
        plan.peak_op = OpId{i};
      }
      for (const std::size_t dead : dying[i]) {
        arena.give_back(offset_of[dead], allocations_[dead].size);
        live -= allocations_[dead].size;
      }
    }
    plan.arena = Bytes{arena.size()};
    plan.peak = Bytes{peak};
    plan.offsets.assign(root_.size(), MemoryPlan::kOutsideArena);
    for (std::size_t t = 0; t < root_.size(); ++t)
      if (allocation_of_[root_[t]] >= 0) plan.offsets[t] = offset_of[allocation_of_[root_[t]]];
    return plan;
  }

  const Graph& graph_;
  const std::vector<char>& elsewhere_;
  const std::int64_t alignment_;
  std::vector<std::size_t> root_;            // by tensor: itself, or what it is a view of
  std::vector<std::uint32_t> last_use_;      // by root
  std::vector<std::int64_t> allocation_of_;  // by root, -1 outside of the arena
  std::vector<Allocation> allocations_;
};

}  // namespace

Bytes aligned_size(Bytes size, std::int64_t alignment) {
  return Bytes{aligned(size.count(), alignment)};
}

MemoryPlan plan_memory(const Graph& graph, const std::vector<char>& elsewhere, std::int64_t alignment) {
  return Planner(graph, elsewhere, alignment).run();
}

}  // namespace nadi
