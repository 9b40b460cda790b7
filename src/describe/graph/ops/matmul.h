// y = activation(alpha * op(a) op(b) + bias), the product that nearly all of a transformer's time goes to.
//
// Each operand is seen as matrices: its first `batch_axes` axes count the matrices, its last axis is the
// columns, and everything between is flattened into rows. So a linear layer is one product of [B*T, in] with
// the weight, and attention scores are B*H products with batch_axes = 2. Operands may be views with strides.
#pragma once

#include "nadi/graph/builder.h"

namespace nadi::inline describe {

enum class Activation : std::uint8_t {
  kNone,
  kGeluTanh,  // GPT-2's approximation
  kGeluErf,   // BERT's exact form
};
std::string_view to_string(Activation activation);  // "none", "gelu_tanh", "gelu_erf"
Activation activation_named(std::string_view name);

struct MatmulArgs {
  TensorId a = kNoTensor;
  TensorId b = kNoTensor;
  TensorId bias = kNoTensor;  // of b's columns
  bool transpose_a = false;
  bool transpose_b = false;
  std::int64_t batch_axes = 0;
  double alpha = 1;
  Activation activation = Activation::kNone;
  // Also write what went into the activation, for the gradient. Off in inference.
  bool save_pre_activation = true;
  // The factors that turn fp8 operands back into values.
  TensorId a_scale = kNoTensor;
  TensorId b_scale = kNoTensor;
};

TensorId matmul(GraphBuilder& builder, const MatmulArgs& args);

// The extents of an op of this kind, for kernels and cost models: `batches` products of [m, k] by [k, n].
struct MatmulExtents {
  std::int64_t batches, m, n, k;
};
struct OpView;
MatmulExtents matmul_extents(const OpView& op);

}  // namespace nadi::inline describe
