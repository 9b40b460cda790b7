// Gradients as a graph transformation: add_backward() appends, to a graph that holds a forward pass, the ops
// that compute the gradients of its parameters.
//
//   const Backward backward = add_backward(builder, {.seeds = {{loss, one}}});
//   for (auto [parameter, gradient] : backward.parameters) ...
//
// Each op has one gradient rule, next to its shape rule (graph/ops/). Gradients of parameters are fp32
// variables named "<parameter>.grad"; a parameter used twice (a tied embedding) gets both contributions added
// in the same variable. Gradients of activations are values of the activations' own type.
//
// Recomputation is a choice made here: values that rules need are kept from the forward pass, or computed
// again from those that are, by copies of the forward ops (phase `recompute`). Nothing is recomputed that no
// rule reads. Dropout repeats its mask because its numbers are counted, not drawn.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "nadi/graph/tensor.h"

namespace nadi::inline describe {

class GraphBuilder;

struct Recompute {
  enum class Granularity : std::uint8_t {
    kNone,       // keep everything
    kSelective,  // keep all but the inside of attention (scores, softmax, dropout)
    kFull,       // keep the inputs of transformer blocks only
  };
  // For kFull. kUniform: every `layers` blocks form a chunk that keeps only its input. kBlock: the first
  // `layers` blocks are recomputed one by one, the rest keep everything.
  enum class Method : std::uint8_t { kUniform, kBlock };

  Granularity granularity = Granularity::kNone;
  Method method = Method::kUniform;
  std::int32_t layers = 1;
};
std::string_view to_string(Recompute::Granularity granularity);
std::string_view to_string(Recompute::Method method);

struct BackwardOptions {
  // Where the backward pass starts: a value of the forward pass and the tensor that holds its gradient.
  std::vector<std::pair<TensorId, TensorId>> seeds;
  // Values whose gradients are wanted besides those of the parameters: a pipeline stage's input.
  std::vector<TensorId> with_respect_to = {};
  Recompute recompute = {};
  // Add to the gradient variables (several micro-batches) instead of overwriting what they hold.
  bool accumulate = false;
};

struct Backward {
  struct ParameterGradient {
    TensorId parameter;
    TensorId gradient;
  };
  // In the order in which the backward pass first writes them: last layer first.
  std::vector<ParameterGradient> parameters;
  // In the order of BackwardOptions::with_respect_to; kNoTensor where no gradient reaches the value.
  std::vector<TensorId> with_respect_to;
};

Backward add_backward(GraphBuilder& builder, const BackwardOptions& options);

}  // namespace nadi::inline describe
