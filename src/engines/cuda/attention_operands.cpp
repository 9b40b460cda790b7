#include "nadi/cuda/attention_operands.h"

#include <algorithm>
#include <cmath>

#include "nadi/graph/dtype.h"

namespace nadi::inline engines::cuda {
namespace {

using namespace attention_input;

HeadRows head_rows(const Operand& operand, std::int64_t head_width, std::int64_t first_head = 0) {
  const Shape& shape = operand.shape();
  HeadRows rows{.data = operand.data,
                .dtype = operand.dtype(),
                .batch_stride = shape[1] * shape[2],
                .token_stride = shape[2],
                .head_stride = head_width,
                .element_stride = 1};
  if (operand.strides.size() == 3) {
    rows.batch_stride = operand.strides[0];
    rows.token_stride = operand.strides[1];
    rows.element_stride = operand.strides[2];
    rows.head_stride = head_width * rows.element_stride;
  }
  rows.data += first_head * rows.head_stride * size_of(rows.dtype);
  return rows;
}

AttentionDropout dropout_of(const OpCall& call, const AttentionExtents& e) {
  const double rate = call.attributes().real("dropout");
  if (rate <= 0) return {};
  constexpr double kWords = 0x1p24;
  return {.random = call.in<std::int64_t>(kRandom),
          .site = call.attributes().integer("site"),
          .heads = call.has(kHeadIds) ? call.attributes().integer("whole_heads") : e.H,
          .tokens = call.has(kQueryPositions) ? e.S : e.T,
          .threshold = static_cast<std::uint32_t>(std::min(std::ceil(rate * kWords), kWords - 1)),
          .scale = static_cast<float>(1 / (1 - rate))};
}

}  // namespace

bool HeadRows::aligned(std::int64_t D) const {
  constexpr std::int64_t kAccess = 16;
  const std::int64_t size = size_of(dtype);
  return element_stride == 1 && reinterpret_cast<std::uintptr_t>(data) % kAccess == 0 &&
         D * size % kAccess == 0 && batch_stride * size % kAccess == 0 &&
         token_stride * size % kAccess == 0 && head_stride * size % kAccess == 0;
}

AttentionOperands attention_operands(const OpCall& call) {
  const AttentionExtents e = attention_extents(call.op);
  const bool packed = !call.has(kK);
  return {.extents = e,
          .group = e.H / e.K,
          .scale = static_cast<float>(call.attributes().real("scale")),
          .causal = call.attributes().boolean("causal"),
          .q = head_rows(call.inputs[kQ], e.D),
          .k = packed ? head_rows(call.inputs[kQ], e.D, e.H) : head_rows(call.inputs[kK], e.D),
          .v = packed ? head_rows(call.inputs[kQ], e.D, e.H + e.K) : head_rows(call.inputs[kV], e.D),
          .positions = call.in<std::int32_t>(kPositions),
          .lengths = call.in<std::int32_t>(kLengths),
          .query_positions = call.in<std::int32_t>(kQueryPositions),
          .key_positions = call.in<std::int32_t>(kKeyPositions),
          .head_ids = call.in<std::int32_t>(kHeadIds),
          .dropout = dropout_of(call, e)};
}

AttentionForward attention_forward_operands(const OpCall& call) {
  AttentionForward forward{.in = attention_operands(call)};
  forward.y = head_rows(call.outputs[0], forward.in.extents.D);
  if (call.outputs.size() > 1) forward.statistics = call.out<float>(1);
  return forward;
}

AttentionGradient attention_gradient_operands(const OpCall& call) {
  const AttentionExtents e = attention_extents(call.op);
  const bool packed = call.outputs.size() == 1;
  const std::size_t k = packed ? 0 : 1, v = packed ? 0 : 2;
  return {.in = attention_operands(call),
          .y = head_rows(call.inputs[kY], e.D),
          .dy = head_rows(call.inputs[kDy], e.D),
          .statistics = call.in<float>(kStatistics),
          .dq = head_rows(call.outputs[0], e.D),
          .dk = head_rows(call.outputs[k], e.D, packed ? e.H : 0),
          .dv = head_rows(call.outputs[v], e.D, packed ? e.H + e.K : 0),
          .add_dq = call.accumulates(0),
          .add_dk = call.accumulates(k),
          .add_dv = call.accumulates(v)};
}

}  // namespace nadi::inline engines::cuda
