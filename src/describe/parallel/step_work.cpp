#include "nadi/parallel/step_work.h"

#include <algorithm>

#include "nadi/graph/op_definition.h"
#include "nadi/graph/ops/grouped_matmul.h"
#include "nadi/graph/ops/matmul.h"

namespace nadi::inline describe {
namespace {

// A product with batch axes is one of activations with each other: attention that is not fused.
OpWorkKind kind_of(const Op& op, const OpCost& cost) {
  if (multiplies_weights(op)) return op.block < 0 ? OpWorkKind::kHead : OpWorkKind::kLinear;
  return cost.matrix > Flops{} ? OpWorkKind::kAttention : OpWorkKind::kOther;
}

DType dtype_of(const Graph& graph, const Op& op, OpWorkKind kind) {
  if (kind != OpWorkKind::kOther || op.outputs.empty()) return graph.tensor(op.inputs[0]).dtype;
  return graph.tensor(op.outputs[0].tensor).dtype;
}

template <typename Entry>
void add_count(std::vector<Entry>& list, const Entry& entry) {
  const auto known = std::ranges::find_if(list, [&](const Entry& e) { return e.key() == entry.key(); });
  if (known != list.end())
    known->count += entry.count;
  else
    list.push_back(entry);
}

template <typename Entry>
std::vector<Entry> merged_counts(const std::vector<Entry>& list) {
  std::vector<Entry> sum;
  for (const Entry& entry : list) add_count(sum, entry);
  std::erase_if(sum, [](const Entry& entry) { return entry.count == 0; });
  std::ranges::sort(sum, {}, &Entry::key);
  return sum;
}

}  // namespace

void add(std::vector<WorkEntry>& sum, const WorkEntry& entry, std::int64_t times) {
  auto known = std::ranges::find_if(sum, [&](const WorkEntry& e) { return e.key() == entry.key(); });
  if (known == sum.end()) {
    sum.push_back({.phase = entry.phase, .kind = entry.kind, .dtype = entry.dtype});
    known = std::prev(sum.end());
  }
  known->ops += entry.ops * times;
  known->matrix += entry.matrix * times;
  known->vector += entry.vector * times;
  known->read += entry.read * times;
  known->written += entry.written * times;
}

void add_op(StepWork& sum, const Graph& graph, const Op& op, std::int64_t times) {
  const OpClass op_class = definition(op.kind).op_class;
  if (op_class == OpClass::kView) return;
  const OpCost cost = cost_of(graph, op);
  const OpWorkKind kind = kind_of(op, cost);
  add(sum.work,
      {.phase = op.phase,
       .kind = kind,
       .dtype = dtype_of(graph, op, kind),
       .ops = 1,
       .matrix = cost.matrix,
       .vector = cost.vector,
       .read = cost.read,
       .written = cost.written},
      times);
  const bool grouped = cost.matrix > Flops{} && op.kind != OpKind::kMatmul && multiplies_weights(op);
  if (op.kind == OpKind::kMatmul || grouped) {
    const OpView view{graph, op};
    const MatmulExtents extents = grouped ? grouped_matmul_extents(view) : matmul_extents(view);
    add_count(sum.products, {.phase = op.phase,
                             .dtype = graph.tensor(op.inputs[0]).dtype,
                             .transpose_a = !grouped && op.attributes.boolean("transpose_a"),
                             .transpose_b = op.attributes.boolean("transpose_b"),
                             .batches = extents.batches,
                             .m = extents.m,
                             .n = extents.n,
                             .k = extents.k,
                             .count = times});
  }
  if (is_communication(op_class))
    add_count(sum.messages, {.phase = op.phase,
                             .kind = op.kind,
                             .group = group_named(op.attributes.text("group")),
                             .size = op.kind == OpKind::kReceive ? cost.written : cost.sent,
                             .count = times});
}

StepWork merged(StepWork work) {
  StepWork sum;
  for (const WorkEntry& entry : work.work)
    if (entry.ops != 0) add(sum.work, entry);
  std::ranges::sort(sum.work, {}, &WorkEntry::key);
  sum.products = merged_counts(work.products);
  sum.messages = merged_counts(work.messages);
  return sum;
}

}  // namespace nadi::inline describe
