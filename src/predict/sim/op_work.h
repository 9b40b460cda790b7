// What a device model wants to know of an op: the same from the op of a graph and from the node of a trace.
//
//   const OpWork work = op_work(graph, op, context);
//   const Nanoseconds time = model.time_of(work);            // device_model.h
#pragma once

#include <cstdint>

#include "nadi/base/units.h"
#include "nadi/graph/dtype.h"
#include "nadi/graph/graph.h"
#include "nadi/graph/op.h"
#include "nadi/graph/op_definition.h"

namespace nadi::inline predict {

// `batches` products of [m, k] by [k, n]; attention: queries m, keys n, head width k, batches * heads.
struct ProductShape {
  std::int64_t batches = 0, m = 0, n = 0, k = 0;  // batches = 0: no product
  bool transpose_a = false, transpose_b = false;
  bool operator==(const ProductShape&) const = default;
};

struct OpWork {
  OpKind kind = OpKind::kFill;
  Phase phase = Phase::kForward;
  DType dtype = DType::kF32;  // of the first operand of products and attention, else of the first output
  ProductShape product = {};
  Flops matrix = {}, vector = {};
  Bytes read = {}, written = {};
  bool core_attention = false;  // inside of unfused attention: works on the scores

  bool operator==(const OpWork&) const = default;
};

OpWork op_work(const Graph& graph, const Op& op, const CostContext& context = {});

}  // namespace nadi::inline predict
