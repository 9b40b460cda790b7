#include "nadi/graph/ops/quantize_fp8.h"

#include "nadi/graph/ops/definitions.h"

namespace nadi::inline describe {
namespace {

std::vector<OutputSpec> infer(const OpView& op) {
  const std::string& format = op.attributes().text("format");
  for (const DType dtype : {DType::kF8E4M3, DType::kF8E5M2})
    if (to_string(dtype) == format) return {{op.in(0), dtype}, {Shape{}, DType::kF32}};
  op.refuse("fp8 format must be f8e4m3 or f8e5m2, not '" + format + "'");
}

}  // namespace

QuantizedTensor quantize_fp8(GraphBuilder& builder, TensorId x, DType format) {
  const std::vector<TensorId> outputs =
      builder.add({.kind = OpKind::kQuantizeFp8,
                   .inputs = {x},
                   .attributes = {{"format", std::string(to_string(format))}}});
  return {outputs[0], outputs[1]};
}

OpDefinition quantize_fp8_definition() {
  return {.kind = OpKind::kQuantizeFp8,
          .name = "quantize_fp8",
          .work = WorkKind::kElementwise,
          .attributes = {{"format", std::string("f8e4m3")}},
          .inputs = {"x"},
          .infer = infer,
          // Magnitude, maximum, multiply; x is read twice, first for the maximum.
          .cost =
              [](const OpView& op, const CostContext&, OpCost& cost) {
                cost.vector += Flops{op.in(0).elements()} * 3;
                cost.read += op.input(0).size();
              },
          .straight_through = true};
}

}  // namespace nadi::inline describe
