#include <algorithm>
#include <cmath>

#include "nadi/graph/ops/adamw.h"
#include "nadi/graph/ops/next_update.h"
#include "nadi/graph/ops/sgd.h"
#include "nadi/graph/ops/sgd_sai.h"
#include "nadi/reference/kernel.h"

namespace nadi::inline engines {
namespace {

// What SGD-SaI multiplies the learning rate of a parameter by, from its first gradient.
double lr_scale_of(std::span<const double> gradient, double grad_scale) {
  const auto n = static_cast<double>(gradient.size());
  if (gradient.size() == 1) return 1;
  double sum = 0, squares = 0, squared_deviations = 0;
  for (const double g : gradient) sum += g * grad_scale;
  for (const double g : gradient) {
    squares += g * grad_scale * g * grad_scale;
    squared_deviations += (g * grad_scale - sum / n) * (g * grad_scale - sum / n);
  }
  return std::sqrt(squares) / (std::sqrt(squared_deviations / (n - 1)) + kSgdSaiEpsilon);
}

}  // namespace

// Inputs by position as in graph/ops/adamw.cpp: parameter, gradient, m, v, learning rate, step, master,
// gradient scale, found_inf. Outputs: parameter, m, v, and the master where there is one.
void adamw_kernel(KernelCall& call) {
  using namespace adamw_input;
  const std::size_t kept = call.has(kMaster) ? kMaster : kParameter;  // the one that is updated
  if (call.scalar_or(kFoundInf, 0) != 0) {
    call.pass(kParameter, 0);
    call.pass(kM, 1);
    call.pass(kV, 2);
    if (call.has(kMaster)) call.pass(kMaster, 3);
    return;
  }
  const Attributes& attributes = call.attributes();
  const double beta1 = attributes.real("beta1"), beta2 = attributes.real("beta2");
  const double decay = attributes.real("weight_decay") * call.scalar_or(kDecayFactor, 1);
  const bool decoupled = attributes.boolean("decoupled");
  const double correction1 = 1 - std::pow(beta1, call.scalar(kUpdateNumber));
  const double correction2 = 1 - std::pow(beta2, call.scalar(kUpdateNumber));
  for (std::size_t i = 0; i < call.in(kParameter).size(); ++i) {
    const double p = call.in(kept)[i];
    const double g = call.in(kGradient)[i] * call.scalar_or(kGradScale, 1) + (decoupled ? 0 : decay * p);
    const double m = beta1 * call.in(kM)[i] + (1 - beta1) * g;
    const double v = beta2 * call.in(kV)[i] + (1 - beta2) * g * g;
    const double direction = m / correction1 / (std::sqrt(v / correction2) + attributes.real("epsilon")) +
                             (decoupled ? decay * p : 0);
    const double updated = p - call.scalar(kLearningRate) * direction;
    call.out(0)[i] = updated;
    call.out(1)[i] = m;
    call.out(2)[i] = v;
    if (call.has(kMaster)) call.out(3)[i] = updated;
  }
}

// Inputs by position as in graph/ops/sgd.cpp. Outputs: parameter, then momentum and master where there are
// any.
void sgd_kernel(KernelCall& call) {
  using namespace sgd_input;
  const std::size_t kept = call.has(kMaster) ? kMaster : kParameter;  // the one that is updated
  const std::size_t master_output = call.has(kMomentum) ? 2 : 1;
  if (call.scalar_or(kFoundInf, 0) != 0) {
    call.pass(kParameter, 0);
    if (call.has(kMomentum)) call.pass(kMomentum, 1);
    if (call.has(kMaster)) call.pass(kMaster, master_output);
    return;
  }
  const double momentum = call.attributes().real("momentum");
  const double decay = call.attributes().real("weight_decay") * call.scalar_or(kDecayFactor, 1);
  for (std::size_t i = 0; i < call.in(kParameter).size(); ++i) {
    const double p = call.in(kept)[i];
    double u = call.in(kGradient)[i] * call.scalar_or(kGradScale, 1) + decay * p;
    if (call.has(kMomentum)) {
      u += momentum * call.in(kMomentum)[i];
      call.out(1)[i] = u;
    }
    const double updated = p - call.scalar(kLearningRate) * u;
    call.out(0)[i] = updated;
    if (call.has(kMaster)) call.out(master_output)[i] = updated;
  }
}

// Inputs by position as in graph/ops/sgd_sai.cpp. Outputs: parameter, scale of the learning rate, then
// momentum and master where there are any.
void sgd_sai_kernel(KernelCall& call) {
  using namespace sgd_sai_input;
  const std::size_t kept = call.has(kMaster) ? kMaster : kParameter;  // the one that is updated
  const std::size_t master_output = call.has(kMomentum) ? 3 : 2;
  if (call.scalar_or(kFoundInf, 0) != 0) {
    call.pass(kParameter, 0);
    call.pass(kLrScale, 1);
    if (call.has(kMomentum)) call.pass(kMomentum, 2);
    if (call.has(kMaster)) call.pass(kMaster, master_output);
    return;
  }
  const double momentum = call.attributes().real("momentum");
  const double decay = call.attributes().real("weight_decay") * call.scalar_or(kDecayFactor, 1);
  const double rate = call.scalar(kLearningRate), grad_scale = call.scalar_or(kGradScale, 1);
  double scale = call.scalar(kLrScale);
  if (scale == 0) scale = lr_scale_of(call.in(kGradient), grad_scale);
  call.out(1)[0] = scale;
  for (std::size_t i = 0; i < call.in(kParameter).size(); ++i) {
    double u = call.in(kGradient)[i] * grad_scale;
    if (call.has(kMomentum)) {
      u = momentum * call.in(kMomentum)[i] + (1 - momentum) * u;
      call.out(2)[i] = u;
    }
    const double updated = call.in(kept)[i] * (1 - rate * decay) - rate * scale * u;
    call.out(0)[i] = updated;
    if (call.has(kMaster)) call.out(master_output)[i] = updated;
  }
}

void squared_norm_kernel(KernelCall& call) {
  for (std::size_t i = 0; i < call.op().op.inputs.size(); ++i)
    for (const double g : call.in(i)) call.out(0)[0] += call.attributes().real("factor") * g * g;
}

// Outputs: norm of the gradients without the loss scale, what to multiply gradients by, found_inf.
void grad_scale_kernel(KernelCall& call) {
  const double kSmall = 1e-6;  // as in graph/ops/gradient_scaling.h
  const double squared_norm = call.scalar(0), loss_scale = call.scalar_or(1, 1);
  const double max_norm = call.attributes().real("max_norm");
  const double norm = std::sqrt(squared_norm) / loss_scale;
  const double clip = max_norm > 0 ? std::min(1.0, max_norm / (norm + kSmall)) : 1;
  call.out(0)[0] = norm;
  call.out(1)[0] = clip / loss_scale;
  call.out(2)[0] = std::isfinite(squared_norm) ? 0 : 1;
}

// Outputs: loss scale, good steps in a row.
void update_loss_scale_kernel(KernelCall& call) {
  const bool found_inf = call.scalar(0) != 0;
  const double interval = static_cast<double>(call.attributes().integer("growth_interval"));
  double scale = call.scalar(1), good_steps = call.scalar(2);
  if (found_inf) {
    scale = std::max(1.0, scale / 2);
    good_steps = 0;
  } else if (++good_steps >= interval) {
    scale *= 2;
    good_steps = 0;
  }
  call.out(0)[0] = scale;
  call.out(1)[0] = good_steps;
}

void next_update_kernel(KernelCall& call) {
  using namespace next_update_io;
  const UpdateSchedules schedules(call.attributes());
  const bool skipped = call.scalar_or(kFoundInf, 0) != 0;
  const double position = call.scalar(kSchedulePosition);
  call.out(kLearningRate)[0] = schedules.learning_rate(position);
  call.out(kUpdateNumber)[0] = call.scalar(kUpdates) + 1;
  call.out(kDecayFactor)[0] = schedules.decay_factor(position);
  call.out(kUpdatesAfter)[0] = call.scalar(kUpdates) + (skipped ? 0 : 1);
  call.out(kSchedulePositionAfter)[0] = position + (skipped ? 0 : call.scalar(kScheduleAdvance));
  call.out(kSkippedUpdatesAfter)[0] = call.scalar(kSkippedUpdates) + (skipped ? 1 : 0);
}

}  // namespace nadi::inline engines
