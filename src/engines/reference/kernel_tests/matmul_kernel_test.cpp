#include <gtest/gtest.h>

#include <vector>

#include "nadi/base/format.h"
#include "nadi/graph/ops/copy.h"
#include "nadi/graph/ops/matmul.h"
#include "nadi/graph/ops/views.h"
#include "nadi/reference/kernel_tests/kernel_check_for_tests.h"

namespace nadi::inline engines {
namespace {

struct Case {
  std::int64_t m, n, k;
  bool transpose_a = false, transpose_b = false, bias = false;
  Activation activation = Activation::kNone;
  double alpha = 1;
  DType dtype = DType::kF32;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (const auto& [m, n, k] : {std::array{1, 1, 1}, {3, 5, 7}, {17, 64, 33}, {64, 48, 200}})
        for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
          all.push_back({.m = m, .n = n, .k = k, .transpose_a = ta, .transpose_b = tb, .dtype = dtype});
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    for (const Activation activation : {Activation::kNone, Activation::kGeluTanh, Activation::kGeluErf})
      all.push_back(
          {.m = 9, .n = 1500, .k = 40, .bias = true, .activation = activation, .alpha = 0.5, .dtype = dtype});
  // Several blocks in each direction where operands are packed.
  all.push_back({.m = 2100, .n = 3, .k = 2, .dtype = DType::kBF16});
  all.push_back({.m = 2, .n = 2100, .k = 3, .transpose_b = true, .dtype = DType::kBF16});
  all.push_back({.m = 3, .n = 2, .k = 4200, .dtype = DType::kBF16});
  return all;
}

TEST(MatmulKernel, EqualsTheReference) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(
        format("{}x{}x{} {} {} {}", c.m, c.n, c.k, c.transpose_a, c.transpose_b, to_string(c.dtype)));
    Problem p;
    const TensorId a = p.parameter("a", c.transpose_a ? Shape{c.k, c.m} : Shape{c.m, c.k}, c.dtype);
    const TensorId b = p.parameter("b", c.transpose_b ? Shape{c.n, c.k} : Shape{c.k, c.n}, c.dtype);
    const TensorId bias = c.bias ? p.parameter("bias", Shape{c.n}, c.dtype) : kNoTensor;
    p.output(matmul(p.builder, {.a = a,
                                .b = b,
                                .bias = bias,
                                .transpose_a = c.transpose_a,
                                .transpose_b = c.transpose_b,
                                .alpha = c.alpha,
                                .activation = c.activation}));
    expect_same_as_reference(p);
  }
}

// Attention's products on permuted views: matrices with gaps, read in place or packed.
TEST(MatmulKernel, TakesViewsWithStrides) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    Problem p;
    const TensorId q = p.parameter("q", Shape{2, 5, 3, 8}, dtype);
    const TensorId k = p.parameter("k", Shape{2, 7, 3, 8}, dtype);
    const TensorId scores = matmul(p.builder, {.a = permute(p.builder, q, {0, 2, 1, 3}),
                                               .b = permute(p.builder, k, {0, 2, 1, 3}),
                                               .transpose_b = true,
                                               .batch_axes = 2,
                                               .alpha = 0.125});
    p.output(matmul(p.builder, {.a = permute(p.builder, scores, {0, 1, 3, 2}),
                                .b = permute(p.builder, q, {0, 2, 1, 3}),
                                .batch_axes = 2}));
    // Rows that are two axes with a gap between them have to be gathered.
    const TensorId wide = p.parameter("wide", Shape{4, 6, 10}, dtype);
    const std::vector<TensorId> halves = split(p.builder, wide, 1, std::vector<std::int64_t>{2, 4});
    p.output(matmul(p.builder, {.a = halves[1], .b = p.parameter("w", Shape{10, 3}, dtype)}));
    expect_same_as_reference(p);
  }
}

}  // namespace
}  // namespace nadi::inline engines
