#include "nadi/graph/ops/sgd.h"

#include "nadi/graph/ops/definitions.h"

namespace nadi::inline describe {
namespace {

using namespace sgd_input;

// Outputs: parameter, then momentum and master where there are any.
std::vector<OutputSpec> infer(const OpView& op) {
  const Shape& parameter = op.in(kParameter);
  op.require(op.in(kGradient) == parameter, "the gradient must have the parameter's shape");
  std::vector<OutputSpec> outputs{{parameter, op.input(kParameter).dtype}};
  for (const int i : {kMomentum, kMaster}) {
    if (!op.has(i)) continue;
    op.require(op.in(i) == parameter, "momentum and master must have the parameter's shape");
    outputs.push_back({parameter, DType::kF32});
  }
  return outputs;
}

void cost(const OpView& op, const CostContext&, OpCost& cost) {
  const std::int64_t per_element = op.has(kMomentum) ? 7 : 5;  // scale, decay (2), momentum (2), update (2)
  cost.vector += Flops{op.in(kParameter).elements()} * per_element;
  if (op.has(kMaster)) cost.read -= op.input(kParameter).size();
}

}  // namespace

void sgd(GraphBuilder& builder, const SgdArgs& args) {
  const UpdateArgs& u = args.update;
  NewOp op{.kind = OpKind::kSgd,
           .inputs = {u.parameter, u.gradient, u.learning_rate, args.momentum_buffer, u.master, u.grad_scale,
                      u.found_inf, u.decay_factor},
           .attributes = {{"momentum", args.momentum}, {"weight_decay", args.weight_decay}},
           .into = {{u.parameter}}};
  for (const TensorId state : {args.momentum_buffer, u.master})
    if (state != kNoTensor) op.into.push_back({state});
  builder.add(std::move(op));
}

OpDefinition sgd_definition() {
  return {.kind = OpKind::kSgd,
          .name = "sgd",
          .work = WorkKind::kOptimizer,
          .attributes = {{"momentum", 0.0}, {"weight_decay", 0.0}},
          .inputs = {"parameter", "gradient", "learning_rate", "momentum?", "master?", "grad_scale?",
                     "found_inf?", "decay_factor?"},
          .infer = infer,
          .cost = cost};
}

}  // namespace nadi::inline describe
