// Method: one pass over the ops finds the last use of every value; a second makes the allocations.

#include "nadi/graph/value_lifetimes.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/graph/memory_plan.h"
#include "nadi/graph/op_definition.h"

namespace nadi::inline describe {
namespace {

class LifetimeFinder {
 public:
  LifetimeFinder(const Graph& graph, const PlacementRules& rules)
      : graph_(graph), rules_(rules), root_(view_roots(graph)), kernel_(rules.kernels.begin()) {
    offset_within_.assign(root_.size(), 0);
    if (!rules.shared_rows.empty()) rows_of_.assign(root_.size(), kNoRows);
    for (std::int32_t rows = 0; rows < static_cast<std::int32_t>(rules.shared_rows.size()); ++rows)
      for (const SharedRows::Columns& columns : rules.shared_rows[rows].values) {
        rows_of_[index(columns.value)] = rows;
        offset_within_[index(columns.value)] = columns.offset;
      }
  }

  ValueLifetimes run() {
    find_last_uses();
    extend_to_ends_of_kernels();
    make_allocations();
    for (std::size_t t = 0; t < root_.size(); ++t) {
      allocation_of_[t] = allocation_of_[root_[t]];
      offset_within_[t] = offset_within_[root_[t]];
    }
    return {.allocations = std::move(allocations_),
            .allocation_of = std::move(allocation_of_),
            .offset_within = std::move(offset_within_)};
  }

 private:
  static constexpr std::int32_t kNoRows = -1;

  // Which of the rules' shared rows the value is in.
  std::int32_t rows_of(std::size_t tensor) const { return rows_of_.empty() ? kNoRows : rows_of_[tensor]; }

  bool in_arena(std::size_t tensor) const {
    return graph_.tensors()[tensor].producer != kNoOp &&
           (rules_.elsewhere.empty() || rules_.elsewhere[tensor] == 0);
  }

  std::int64_t size_of(std::size_t tensor) const {
    const std::int64_t padded = rules_.padded_sizes.empty() ? 0 : rules_.padded_sizes[tensor];
    return padded > 0 ? padded : graph_.tensors()[tensor].size().count();
  }

  // The kernel that computes the op, for ops that are asked for in order.
  PlacementRules::Kernel kernel_of(std::uint32_t op) {
    while (kernel_ != rules_.kernels.end() && kernel_->end <= op) ++kernel_;
    if (kernel_ != rules_.kernels.end() && kernel_->first <= op) return *kernel_;
    return {op, op + 1};
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
    if (input != root || size_of(root) != size_of(output)) return std::nullopt;
    if (rows_of(root) != kNoRows || rows_of(output) != kNoRows) return std::nullopt;
    for (std::size_t i = 0; i < op.inputs.size(); ++i)
      if (static_cast<int>(i) != candidate && op.inputs[i] != kNoTensor && root_[index(op.inputs[i])] == root)
        return std::nullopt;
    return root;
  }

  // A kernel of several ops needs what any of them needs until its end.
  void extend_to_ends_of_kernels() {
    dies_ = last_use_;
    if (rules_.kernels.empty()) return;
    for (std::uint32_t& last : dies_) {
      const auto behind = std::ranges::upper_bound(rules_.kernels, last, {}, &PlacementRules::Kernel::first);
      if (behind != rules_.kernels.begin() && last < std::prev(behind)->end)
        last = std::prev(behind)->end - 1;
    }
  }

  // The allocation that a value shares, or a new one.
  std::int32_t allocation_for(std::size_t tensor, std::uint32_t born,
                              std::vector<std::int32_t>& allocation_of_rows) {
    const std::int32_t rows = rows_of(tensor);
    if (rows != kNoRows && allocation_of_rows[rows] >= 0) {
      check(allocations_[allocation_of_rows[rows]].born == born, "values share rows, but not their kernel");
      return allocation_of_rows[rows];
    }
    const std::int64_t size = rows == kNoRows ? size_of(tensor) : rules_.shared_rows[rows].size;
    allocations_.push_back({.size = aligned_size(Bytes{size}, rules_.alignment).count(), .born = born});
    const auto made = static_cast<std::int32_t>(allocations_.size() - 1);
    if (rows != kNoRows) allocation_of_rows[rows] = made;
    return made;
  }

  void make_allocations() {
    allocation_of_.assign(root_.size(), -1);
    std::vector<std::int32_t> allocation_of_rows(rules_.shared_rows.size(), -1);
    for (std::uint32_t i = 0; i < graph_.ops().size(); ++i) {
      const Op& op = graph_.ops()[i];
      if (definition(op.kind).op_class == OpClass::kView) continue;
      const PlacementRules::Kernel kernel = kernel_of(i);
      for (std::size_t k = 0; k < op.outputs.size(); ++k) {
        const std::size_t tensor = index(op.outputs[k].tensor);
        if (!in_arena(tensor)) continue;
        const auto taken = k == 0 ? in_place_of(op, i) : std::nullopt;
        allocation_of_[tensor] =
            taken ? allocation_of_[*taken] : allocation_for(tensor, kernel.first, allocation_of_rows);
        Allocation& allocation = allocations_[allocation_of_[tensor]];
        allocation.dies = std::max(allocation.dies, dies_[tensor]);
      }
    }
  }

  const Graph& graph_;
  const PlacementRules& rules_;
  std::vector<std::uint32_t> root_;  // by tensor: itself, or what it is a view of
  std::vector<PlacementRules::Kernel>::const_iterator kernel_;
  std::vector<std::uint32_t> last_use_;      // by root: number of the op
  std::vector<std::uint32_t> dies_;          // by root: of the last op of that op's kernel
  std::vector<std::int32_t> allocation_of_;  // by root, -1 outside of the arena
  std::vector<Allocation> allocations_;
  std::vector<std::int64_t> offset_within_;  // by tensor
  std::vector<std::int32_t> rows_of_;        // by tensor; empty means nobody shares rows
};

}  // namespace

std::vector<std::uint32_t> view_roots(const Graph& graph) {
  std::vector<std::uint32_t> root(graph.tensors().size());
  for (std::uint32_t t = 0; t < root.size(); ++t) root[t] = t;
  for (const Op& op : graph.ops())
    if (definition(op.kind).op_class == OpClass::kView)
      for (const OpOutput& output : op.outputs) root[index(output.tensor)] = root[index(op.inputs[0])];
  return root;
}

ValueLifetimes value_lifetimes(const Graph& graph, const PlacementRules& rules) {
  return LifetimeFinder(graph, rules).run();
}

}  // namespace nadi::inline describe
