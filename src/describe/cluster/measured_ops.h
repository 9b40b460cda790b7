// What ops took on a device, as `nadi calibrate` measures them: a table that wins over the model where it has
// an answer, with interpolation in between (sim/device_measured.h).
//
//   MeasuredOp op = op_to_measure(graph, op);          // everything but the time
//   op.time = median;
//   device.measured.ops.push_back(op);
//
// An op is known by its kind, its type and its work, as the graph counts it: two ops that agree in all of
// these take the same time. A device may fuse ops into one kernel. Then the first op has the time of the
// kernel and the others take none, as in the traces of runs; only ops of one kind in one kernel (updates of
// neighbouring parameters) share its time by the bytes that they move.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/graph/dtype.h"
#include "nadi/graph/graph.h"
#include "nadi/graph/op.h"
#include "nadi/graph/op_definition.h"

namespace nadi::inline describe {

struct MeasuredOp {
  OpKind kind = OpKind::kFill;
  DType dtype = DType::kF32;  // of the first operand of products and attention, else of the first output
  // `batches` products of [m, k] by [k, n]; of attention sequences * heads, queries, keys, head width. All 0:
  // neither.
  std::int64_t batches = 0, m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  Flops matrix = {}, vector = {};
  Bytes read = {}, written = {};
  Nanoseconds time = {};  // until the next kernel starts; 0 means fused into the kernel of another op

  auto operator<=>(const MeasuredOp&) const = default;
};

// What the machine did besides measuring (base/processor_use.h). Of one number of ranks, communication
// included.
struct MeasuringConditions {
  std::int64_t judged = 0;     // stretches of measurements that were long enough
  std::int64_t dropped = 0;    // of them: disturbed, and measured again
  std::int64_t disturbed = 0;  // of them: disturbed, and kept, since time was up

  bool operator==(const MeasuringConditions&) const = default;
};

struct MeasuredOps {
  // What lies between the end of a kernel and the start of the next. Times of `ops` contain it, as far as an
  // op is a kernel of its own; it is kept to be shown.
  Nanoseconds between_kernels = {};
  std::vector<MeasuredOp> ops = {};
  MeasuringConditions conditions = {};

  bool empty() const { return ops.empty(); }
  bool operator==(const MeasuredOps&) const = default;
};

// An op of a graph as a row without its time.
MeasuredOp op_to_measure(const Graph& graph, const Op& op, const CostContext& context = {});

}  // namespace nadi::inline describe
