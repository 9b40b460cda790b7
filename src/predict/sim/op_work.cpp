#include "nadi/sim/op_work.h"

#include "nadi/cluster/measured_ops.h"
#include "nadi/sim/device_measured.h"

namespace nadi::inline predict {

// The same facts by which measured ops are known, so that the table finds them again.
OpWork op_work(const Graph& graph, const Op& op, const CostContext& context) {
  OpWork work = work_of(op_to_measure(graph, op, context));
  work.phase = op.phase;
  work.core_attention = op.core_attention;
  return work;
}

}  // namespace nadi::inline predict
