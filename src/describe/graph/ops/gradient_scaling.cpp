#include "nadi/graph/ops/gradient_scaling.h"

#include "nadi/graph/ops/definitions.h"

namespace nadi::inline describe {
namespace {

std::vector<OutputSpec> infer_squared_norm(const OpView& op) {
  op.require(!op.op.inputs.empty(), "needs at least one tensor");
  return {{Shape{}, DType::kF32}};
}

void cost_squared_norm(const OpView& op, const CostContext&, OpCost& cost) {
  for (std::size_t i = 0; i < op.op.inputs.size(); ++i) cost.vector += Flops{op.in(i).elements()} * 2;
}

std::vector<OutputSpec> infer_scalars(const OpView& op, std::size_t outputs) {
  for (std::size_t i = 0; i < op.op.inputs.size(); ++i)
    if (op.has(i)) op.require(op.in(i) == Shape{}, "takes scalars");
  return std::vector<OutputSpec>(outputs, {Shape{}, DType::kF32});
}

}  // namespace

TensorId squared_norm(GraphBuilder& builder, std::span<const TensorId> gradients, double factor) {
  return builder.add_one({.kind = OpKind::kSquaredNorm,
                          .inputs = {gradients.begin(), gradients.end()},
                          .attributes = {{"factor", factor}}});
}

GradScale grad_scale(GraphBuilder& builder, const GradScaleArgs& args) {
  const std::vector<TensorId> outputs = builder.add({.kind = OpKind::kGradScale,
                                                     .inputs = {args.squared_norm, args.loss_scale},
                                                     .attributes = {{"max_norm", args.max_norm}},
                                                     .into = {{args.grad_norm}}});
  return {outputs[1], outputs[2]};
}

void update_loss_scale(GraphBuilder& builder, const UpdateLossScaleArgs& args) {
  builder.add({.kind = OpKind::kUpdateLossScale,
               .inputs = {args.found_inf, args.loss_scale, args.good_steps},
               .attributes = {{"growth_interval", args.growth_interval}},
               .into = {{args.loss_scale}, {args.good_steps}}});
}

OpDefinition squared_norm_definition() {
  return {.kind = OpKind::kSquaredNorm,
          .name = "squared_norm",
          .work = WorkKind::kOptimizer,
          .attributes = {{"factor", 1.0}},
          .inputs = {"gradients*"},
          .infer = infer_squared_norm,
          .cost = cost_squared_norm};
}

OpDefinition grad_scale_definition() {
  return {.kind = OpKind::kGradScale,
          .name = "grad_scale",
          .work = WorkKind::kOptimizer,
          .attributes = {{"max_norm", 0.0}},
          .inputs = {"squared_norm", "loss_scale?"},
          .infer = [](const OpView& op) { return infer_scalars(op, 3); }};
}

OpDefinition update_loss_scale_definition() {
  return {.kind = OpKind::kUpdateLossScale,
          .name = "update_loss_scale",
          .work = WorkKind::kOptimizer,
          .attributes = {{"growth_interval", std::int64_t{2000}}},
          .inputs = {"found_inf", "loss_scale", "good_steps"},
          .infer = [](const OpView& op) { return infer_scalars(op, 2); }};
}

}  // namespace nadi::inline describe
