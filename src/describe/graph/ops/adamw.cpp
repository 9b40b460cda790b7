#include "nadi/graph/ops/adamw.h"

#include "nadi/graph/ops/definitions.h"

namespace nadi::inline describe {
namespace {

using namespace adamw_input;

// Scale the gradient, two moments (3 + 4), their corrections (2), root, + epsilon, divide, decay (2), update
// (2).
constexpr std::int64_t kFlops = 17;

std::vector<OutputSpec> infer(const OpView& op) {
  const Shape& parameter = op.in(kParameter);
  for (const int i : {kGradient, kM, kV})
    op.require(op.in(i) == parameter, "gradient and moments must have the parameter's shape");
  std::vector<OutputSpec> outputs{
      {parameter, op.input(kParameter).dtype}, {parameter, DType::kF32}, {parameter, DType::kF32}};
  if (op.has(kMaster)) {
    op.require(op.in(kMaster) == parameter, "the master must have the parameter's shape");
    outputs.push_back({parameter, DType::kF32});
  }
  return outputs;
}

void cost(const OpView& op, const CostContext&, OpCost& cost) {
  cost.vector += Flops{op.in(kParameter).elements()} * kFlops;
  // With a master, the rounded parameter is only written.
  if (op.has(kMaster)) cost.read -= op.input(kParameter).size();
}

}  // namespace

void adamw(GraphBuilder& builder, const AdamWArgs& args) {
  const UpdateArgs& u = args.update;
  NewOp op{.kind = OpKind::kAdamW,
           .inputs = {u.parameter, u.gradient, args.m, args.v, u.learning_rate, args.update_number, u.master,
                      u.grad_scale, u.found_inf, u.decay_factor},
           .attributes = {{"beta1", args.beta1},
                          {"beta2", args.beta2},
                          {"epsilon", args.epsilon},
                          {"weight_decay", args.weight_decay},
                          {"decoupled", args.decoupled}},
           .into = {{u.parameter}, {args.m}, {args.v}}};
  if (u.master != kNoTensor) op.into.push_back({u.master});
  builder.add(std::move(op));
}

OpDefinition adamw_definition() {
  return {.kind = OpKind::kAdamW,
          .name = "adamw",
          .attributes = {{"beta1", 0.9},
                         {"beta2", 0.999},
                         {"epsilon", 1e-8},
                         {"weight_decay", 0.0},
                         {"decoupled", true}},
          .inputs = {"parameter", "gradient", "m", "v", "learning_rate", "update_number", "master?",
                     "grad_scale?", "found_inf?", "decay_factor?"},
          .infer = infer,
          .cost = cost};
}

}  // namespace nadi::inline describe
