// One step of Adam on one parameter, in place:
//
//   g' = g * grad_scale (+ weight_decay * p, when not decoupled)
//   m = beta1 m + (1 - beta1) g',   v = beta2 v + (1 - beta2) g'^2
//   p -= learning_rate * (m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon) + weight_decay * p)
//
// with t = update_number, and the last term only when decoupled (AdamW). weight_decay is the attribute times
// decay_factor. With mixed precision, p is the fp32 master and the parameter gets its rounded value. When
// found_inf is not 0, nothing changes.
#pragma once

#include "nadi/graph/builder.h"

namespace nadi::inline describe {

// What every optimizer op is given besides its own state.
struct UpdateArgs {
  TensorId parameter = kNoTensor;
  TensorId gradient = kNoTensor;
  TensorId master = kNoTensor;         // fp32 copy of a low-precision parameter
  TensorId learning_rate = kNoTensor;  // f32 scalar
  TensorId grad_scale = kNoTensor;     // f32 scalar: clipping and loss scale in one factor; 1 when absent
  TensorId found_inf = kNoTensor;      // f32 scalar
  TensorId decay_factor = kNoTensor;   // f32 scalar: what weight_decay is multiplied by; 1 when absent
};

struct AdamWArgs {
  UpdateArgs update;
  TensorId m = kNoTensor;
  TensorId v = kNoTensor;
  TensorId update_number = kNoTensor;  // i64 scalar: updates of this optimizer, this one included
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool decoupled = true;
};
void adamw(GraphBuilder& builder, const AdamWArgs& args);

// Inputs by position, for kernels.
namespace adamw_input {
enum : int {
  kParameter,
  kGradient,
  kM,
  kV,
  kLearningRate,
  kUpdateNumber,
  kMaster,
  kGradScale,
  kFoundInf,
  kDecayFactor
};
}  // namespace adamw_input

}  // namespace nadi::inline describe
