// From logits to the gradients of their product, with the loss and its gradient in one kernel.
#include <gtest/gtest.h>

#include "nadi/base/format.h"
#include "nadi/cuda/fusing.h"
#include "nadi/graph/gradient.h"
#include "nadi/graph/ops.h"
#include "nadi/reference/kernel_tests/kernel_check_for_tests.h"

namespace nadi::inline engines::cuda {
namespace {

struct LossCase {
  std::int64_t rows, columns;
  std::int64_t vocabulary = 0;  // 0 means all columns
  bool bias = true;
  bool accumulate = false;
};

bool has_kernel(const Graph& graph, FusedKind kind) {
  Program program;
  program.graphs.push_back(graph);
  program.sections.push_back(
      {.name = "all", .graph = 0, .first_op = 0, .end_op = static_cast<std::uint32_t>(graph.ops().size())});
  for (const FusedOps& ops : fused_ops(program, 0, {}))
    if (ops.kind == kind) return true;
  return false;
}

void check_loss(const LossCase& c, DType dtype, bool in_one_pass = true) {
  SCOPED_TRACE(format("{} x {}, {}, bias {}, accumulate {}", c.rows, c.columns, to_string(dtype), c.bias,
                      c.accumulate));
  constexpr std::int64_t kWidth = 16;
  const std::int64_t vocabulary = c.vocabulary > 0 ? c.vocabulary : c.columns;
  Problem p;
  const TensorId x = p.parameter("x", Shape{c.rows, kWidth}, dtype);
  const TensorId table = p.parameter("table", Shape{c.columns, kWidth}, dtype);
  for (double& value : p.store["table"]) value /= 4;
  const TensorId bias = c.bias ? p.parameter("bias", Shape{c.columns}, dtype) : kNoTensor;
  const TensorId logits = matmul(p.builder, {.a = x, .b = table, .bias = bias, .transpose_b = true});
  Doubles targets(c.rows);
  for (std::size_t i = 0; i < targets.size(); ++i)
    targets[i] = i % 5 == 3 ? static_cast<double>(kIgnoredTarget)
                            : static_cast<double>(i * 8191 % static_cast<std::size_t>(vocabulary));
  const TensorId loss = cross_entropy(p.builder, {.logits = logits,
                                                  .targets = p.integers("targets", Shape{c.rows}, targets),
                                                  .count = p.scalar("count", 7),
                                                  .vocabulary = vocabulary});
  p.output(loss);
  add_backward(p.builder, {.seeds = {{loss, p.scalar("seed", 3)}}, .accumulate = c.accumulate});
  EXPECT_EQ(has_kernel(p.builder.graph(), FusedKind::kLossWithGradient), in_one_pass);
  expect_same_as_reference(p);
}

// Rows of two chunks of the ring, which many rows go through; rows that end within one; BERT's and GPT-2's.
TEST(LossWithGradient, IsTheReference) {
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    for (const LossCase& c : {LossCase{2300, 4224}, LossCase{2300, 4224, 4099, false}, LossCase{3, 5003},
                              LossCase{133, 16384, 16383}, LossCase{140, 5003, 0, true, true}})
      check_loss(c, dtype);
    check_loss({280, 30522}, dtype);
    check_loss({270, 50257, 0, false}, dtype);
  }
  for (const LossCase& c : {LossCase{1300, 4224}, LossCase{140, 2051, 2050}}) check_loss(c, DType::kF32);
}

// Sums of so many columns have no place in registers, rows so long none in shared memory.
TEST(LossWithGradient, IsLeftToTwoPassesWhereRowsAreLong) {
  check_loss({20, 50257}, DType::kBF16, false);
  check_loss({20, 128256, 0, false}, DType::kBF16, false);
  check_loss({20, 30522}, DType::kF32, false);
  check_loss({20, 50257, 0, false}, DType::kF32, false);
}

}  // namespace
}  // namespace nadi::inline engines::cuda
