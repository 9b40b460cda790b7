#include "nadi/graph/ops/sgd_sai.h"

#include "nadi/graph/ops/definitions.h"

namespace nadi::inline describe {
namespace {

using namespace sgd_sai_input;

// Outputs: parameter, s, then momentum and master where there are any.
std::vector<OutputSpec> infer(const OpView& op) {
  const Shape& parameter = op.in(kParameter);
  op.require(op.in(kGradient) == parameter, "the gradient must have the parameter's shape");
  op.require(op.in(kLrScale) == Shape{1}, "the scale of the learning rate must be [1]");
  std::vector<OutputSpec> outputs{{parameter, op.input(kParameter).dtype}, {Shape{1}, DType::kF32}};
  for (const int i : {kMomentum, kMaster}) {
    if (!op.has(i)) continue;
    op.require(op.in(i) == parameter, "momentum and master must have the parameter's shape");
    outputs.push_back({parameter, DType::kF32});
  }
  return outputs;
}

// Counts every step but the first, which alone takes s.
void cost(const OpView& op, const CostContext&, OpCost& cost) {
  const std::int64_t per_element = op.has(kMomentum) ? 7 : 4;  // scale, momentum (3), decay, update (2)
  cost.vector += Flops{op.in(kParameter).elements()} * per_element;
  if (op.has(kMaster)) cost.read -= op.input(kParameter).size();
}

}  // namespace

void sgd_sai(GraphBuilder& builder, const SgdSaiArgs& args) {
  const UpdateArgs& u = args.update;
  NewOp op{.kind = OpKind::kSgdSai,
           .inputs = {u.parameter, u.gradient, u.learning_rate, args.lr_scale, args.momentum_buffer, u.master,
                      u.grad_scale, u.found_inf, u.decay_factor},
           .attributes = {{"momentum", args.momentum}, {"weight_decay", args.weight_decay}},
           .into = {{u.parameter}, {args.lr_scale}}};
  for (const TensorId state : {args.momentum_buffer, u.master})
    if (state != kNoTensor) op.into.push_back({state});
  builder.add(std::move(op));
}

OpDefinition sgd_sai_definition() {
  return {.kind = OpKind::kSgdSai,
          .name = "sgd_sai",
          .work = WorkKind::kOptimizer,
          .attributes = {{"momentum", 0.0}, {"weight_decay", 0.0}},
          .inputs = {"parameter", "gradient", "learning_rate", "lr_scale", "momentum?", "master?",
                     "grad_scale?", "found_inf?", "decay_factor?"},
          .infer = infer,
          .cost = cost};
}

}  // namespace nadi::inline describe
