// A product with a weight for each expert: rows that stand in the order of the experts (expert_rows.h) by the
// matrix of theirs. Letters: E experts, R rows, K inner extent, N columns.
//
//   y[r, :] = a[r, :] b[e(r)]        with b [E, K, N], or its transposed matrices [E, N, K]
//
// The first counts[0] rows are those of expert 0, and so on; rows behind all of them are zeros.
#pragma once

#include "nadi/graph/builder.h"
#include "nadi/graph/op_definition.h"
#include "nadi/graph/ops/matmul.h"

namespace nadi::inline describe {

struct GroupedMatmulArgs {
  TensorId a = kNoTensor;       // [R, K]
  TensorId b = kNoTensor;       // [E, K, N]
  TensorId counts = kNoTensor;  // i32 [E]
  bool transpose_b = false;     // b is [E, N, K]
  std::int64_t rows_in_use = 0;
};
TensorId grouped_matmul(GraphBuilder& builder, const GroupedMatmulArgs& args);

// A product of experts, or the gradient of its weights, as so many products of the mean size.
MatmulExtents grouped_matmul_extents(const OpView& op);
// Whether an op is a product with weights: of all tokens, or of experts.
bool multiplies_weights(const Op& op);

// Of the gradient: b's is a^T dy, or dy^T a where b is transposed, of each expert's rows.
namespace grouped_matmul_input {
enum : int { kA, kB, kCounts };
}
namespace grouped_matmul_grad_input {
enum : int { kA, kGradient, kCounts };
}

}  // namespace nadi::inline describe
