// One step of SGD-SaI (Xu et al., "No More Adam: Learning Rate Scaling at Initialization is All You Need",
// arXiv 2412.11768) on one parameter, in place: momentum, and a learning rate of the parameter's own that its
// first gradient settles. With g' = g * grad_scale:
//
//   s = |g'| / (deviation of g' + 1e-8)                   only while s is 0
//   u = momentum * u + (1 - momentum) * g'
//   p = p * (1 - learning_rate * weight_decay) - learning_rate * s * u
//
// |g'| is the Euclidean norm over the whole tensor, the deviation that of a sample (n - 1 in the
// denominator); a tensor of one element has none, and s = 1. s is kept in a variable f32 [1] that starts at
// 0, which means "not taken yet": so a first step that overflowed is no loss, and a resumed run goes on with
// what the first one took. A gradient of nothing but zeros leaves it at 0 for another step.
//
// Without momentum there is no u, and g' takes its place. Masters and found_inf as for adamw.h.
#pragma once

#include "nadi/graph/ops/adamw.h"

namespace nadi::inline describe {

struct SgdSaiArgs {
  UpdateArgs update;
  TensorId momentum_buffer = kNoTensor;
  TensorId lr_scale = kNoTensor;
  double momentum = 0;
  double weight_decay = 0;
};
void sgd_sai(GraphBuilder& builder, const SgdSaiArgs& args);

// What keeps s finite where all elements of a gradient are equal.
inline constexpr double kSgdSaiEpsilon = 1e-8;

// Inputs by position, for kernels.
namespace sgd_sai_input {
enum : int {
  kParameter,
  kGradient,
  kLearningRate,
  kLrScale,
  kMomentum,
  kMaster,
  kGradScale,
  kFoundInf,
  kDecayFactor
};
}  // namespace sgd_sai_input

}  // namespace nadi::inline describe
