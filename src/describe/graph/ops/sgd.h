// One step of stochastic gradient descent on one parameter, in place:
//
//   g' = g * grad_scale + weight_decay * p,   u = momentum * u + g',   p -= learning_rate * u
//
// Without momentum there is no u, and p -= learning_rate * g'. Masters and found_inf as for adamw.h.
#pragma once

#include "nadi/graph/ops/adamw.h"

namespace nadi::inline describe {

struct SgdArgs {
  UpdateArgs update;
  TensorId momentum_buffer = kNoTensor;
  double momentum = 0;
  double weight_decay = 0;
};
void sgd(GraphBuilder& builder, const SgdArgs& args);

// Inputs by position, for kernels.
namespace sgd_input {
enum : int { kParameter, kGradient, kLearningRate, kMomentum, kMaster, kGradScale, kFoundInf, kDecayFactor };
}  // namespace sgd_input

}  // namespace nadi::inline describe
