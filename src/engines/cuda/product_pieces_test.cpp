// Products of which an extent is no multiple of 8, though rows begin at round addresses: large enough to be
// cut into pieces (product_pieces.h), or to grow into padding.
#include <gtest/gtest.h>

#include <vector>

#include "nadi/graph/ops.h"
#include "nadi/reference/kernel_tests/kernel_check_for_tests.h"

namespace nadi::inline engines::cuda {
namespace {

constexpr std::int64_t kOdd = 1449, kEven = 1456, kOther = 128;  // 128 * 1449 * 1456 is just above 2^28

// The first kOdd columns of a matrix with kEven.
TensorId odd_columns(Problem& p, const char* name, std::int64_t rows, DType dtype) {
  const TensorId whole = p.parameter(name, Shape{rows, kEven}, dtype);
  return split(p.builder, whole, 1, std::vector<std::int64_t>{kOdd, kEven - kOdd})[0];
}

TEST(ProductPieces, OfAnOddInnerExtent) {
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    Problem p;
    p.output(matmul(p.builder, {.a = odd_columns(p, "a", kOther, dtype),
                                .b = p.parameter("b", Shape{kOdd, kEven}, dtype),
                                .bias = p.parameter("bias", Shape{kEven}, dtype),
                                .alpha = 0.25}));
    expect_same_as_reference(p);
  }
}

TEST(ProductPieces, OfAnOddNumberOfRows) {
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    Problem p;
    p.output(matmul(p.builder, {.a = odd_columns(p, "a", kEven, dtype),
                                .b = p.parameter("b", Shape{kEven, kOther}, dtype),
                                .transpose_a = true}));
    expect_same_as_reference(p);
  }
}

// The result's rows are padded, since a product reads them. Its table may have spare rows, or be a view.
TEST(ProductPieces, OfAnOddNumberOfColumns) {
  for (const DType dtype : {DType::kBF16, DType::kF16})
    for (const bool view : {false, true}) {
      Problem p;
      const TensorId table = view ? split(p.builder, p.parameter("table", Shape{kEven, kEven}, dtype), 0,
                                          std::vector<std::int64_t>{kOdd, kEven - kOdd})[0]
                                  : p.parameter("table", Shape{kOdd, kEven}, dtype);
      const TensorId y = matmul(p.builder, {.a = p.parameter("a", Shape{kOther, kEven}, dtype),
                                            .b = table,
                                            .transpose_b = true,
                                            .alpha = 0.03});
      p.output(matmul(p.builder, {.a = y, .b = p.parameter("w", Shape{kOdd, 16}, dtype)}));
      expect_same_as_reference(p);
    }
}

}  // namespace
}  // namespace nadi::inline engines::cuda
