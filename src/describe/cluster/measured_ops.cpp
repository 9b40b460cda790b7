#include "nadi/cluster/measured_ops.h"

#include "nadi/graph/ops/attention.h"
#include "nadi/graph/ops/grouped_matmul.h"
#include "nadi/graph/ops/matmul.h"

namespace nadi::inline describe {

MeasuredOp op_to_measure(const Graph& graph, const Op& op, const CostContext& context) {
  const OpView view{graph, op};
  const OpCost cost = cost_of(graph, op, context);
  MeasuredOp row{.kind = op.kind,
                 .matrix = cost.matrix,
                 .vector = cost.vector,
                 .read = cost.read,
                 .written = cost.written};
  const bool by_operand = cost.matrix > Flops{} || op.outputs.empty();
  row.dtype = graph.tensor(by_operand ? op.inputs[0] : op.outputs[0].tensor).dtype;
  if (op.kind == OpKind::kMatmul) {
    const MatmulExtents extents = matmul_extents(view);
    row.batches = extents.batches;
    row.m = extents.m;
    row.n = extents.n;
    row.k = extents.k;
    row.transpose_a = op.attributes.boolean("transpose_a");
    row.transpose_b = op.attributes.boolean("transpose_b");
  } else if (op.kind == OpKind::kGroupedMatmul || op.kind == OpKind::kGroupedMatmulGrad) {
    const MatmulExtents extents = grouped_matmul_extents(view);
    row.batches = extents.batches;
    row.m = extents.m;
    row.n = extents.n;
    row.k = extents.k;
    row.transpose_b = op.attributes.boolean("transpose_b");
  } else if (op.kind == OpKind::kAttention || op.kind == OpKind::kAttentionGrad) {
    const AttentionExtents extents = attention_extents(view);
    row.batches = extents.B * extents.H;
    row.m = extents.T;
    row.n = extents.S;
    row.k = extents.D;
  }
  return row;
}

}  // namespace nadi::inline describe
