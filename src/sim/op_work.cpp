#include "nadi/sim/op_work.h"

#include "nadi/graph/ops/matmul.h"

namespace nadi {

OpWork op_work(const Graph& graph, const Op& op, const CostContext& context) {
  const OpCost cost = cost_of(graph, op, context);
  OpWork work{.kind = op.kind, .phase = op.phase};
  work.matrix = cost.matrix;
  work.vector = cost.vector;
  work.read = cost.read;
  work.written = cost.written;
  const bool by_operand = cost.matrix > Flops{} || op.outputs.empty();
  work.dtype = graph.tensor(by_operand ? op.inputs[0] : op.outputs[0].tensor).dtype;
  if (op.kind == OpKind::kMatmul) {
    const MatmulExtents extents = matmul_extents(OpView{graph, op});
    work.product = {.batches = extents.batches,
                    .m = extents.m,
                    .n = extents.n,
                    .k = extents.k,
                    .transpose_a = op.attributes.boolean("transpose_a"),
                    .transpose_b = op.attributes.boolean("transpose_b")};
  }
  return work;
}

}  // namespace nadi
