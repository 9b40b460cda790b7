// Between backward pass and optimizer: the global gradient norm, clipping by it, and the dynamic loss scale
// of fp16. All of it stays in the graph, so that a step needs nothing from the host half-way.
#pragma once

#include <span>

#include "nadi/graph/builder.h"

namespace nadi::inline describe {

// Sum of squares over all elements of all tensors given, times `factor` (for tensors that several ranks hold
// and that count once), an f32 scalar.
TensorId squared_norm(GraphBuilder& builder, std::span<const TensorId> gradients, double factor = 1);

// From the sum of squares of (scaled) gradients:
//   grad_norm   norm of the gradients without the loss scale, written to a metric
//   grad_scale  the factor of gradients: min(1, max_norm / (grad_norm + 1e-6)) / loss_scale
//   found_inf   1 when the sum of squares is not finite, else 0
struct GradScaleArgs {
  TensorId squared_norm = kNoTensor;
  TensorId loss_scale = kNoTensor;  // f32 scalar; 1 when absent
  double max_norm = 0;              // 0 means no clipping
  TensorId grad_norm = kNoTensor;   // the metric
};
struct GradScale {
  TensorId scale;
  TensorId found_inf;
};
GradScale grad_scale(GraphBuilder& builder, const GradScaleArgs& args);

// Halves the loss scale (not below 1) when found_inf is set, doubles it after `growth_interval` good steps in
// a row. Both are variables, the number of good steps in an f32 scalar.
struct UpdateLossScaleArgs {
  TensorId found_inf = kNoTensor;
  TensorId loss_scale = kNoTensor;
  TensorId good_steps = kNoTensor;
  std::int64_t growth_interval = 2000;
};
void update_loss_scale(GraphBuilder& builder, const UpdateLossScaleArgs& args);

}  // namespace nadi::inline describe
