#include <gtest/gtest.h>

#include "nadi/graph/ops.h"
#include "nadi/reference/kernel_tests/kernel_check_for_tests.h"

namespace nadi::inline engines {
namespace {

constexpr DType kStorage[]{DType::kF32, DType::kBF16, DType::kF16};

TEST(AddKernel, RepeatsTheShorterOperand) {
  for (const DType dtype : kStorage)
    for (const Shape& shape : {Shape{1}, Shape{3, 7}, Shape{5, 64}, Shape{2, 9, 1023}}) {
      Problem p;
      const TensorId a = p.parameter("a", shape, dtype);
      add(p.builder, a, p.parameter("b", shape, DType::kBF16));
      add(p.builder, a, p.parameter("row", shape.slice(shape.rank() - 1, shape.rank()), dtype));
      add(p.builder, a, p.parameter("scalar", Shape{}));
      add(p.builder, a, a);
      p.builder.add({.kind = OpKind::kAdd, .inputs = {a, p.parameter("c", shape)}, .into = {{a}}});
      expect_same_as_reference(p);
    }
}

TEST(DropoutKernel, KeepsWhatTheReferenceKeeps) {
  // Number 5 of a batch whose first sample is 3 is element 3 * 13 * 77 + 5, and so on.
  for (const DType dtype : kStorage)
    for (const double first_sample : {0.0, 3.0, 4e9}) {
      Problem p;
      const TensorId x = p.parameter("x", Shape{5, 13, 77, 3}, dtype);
      dropout(p.builder, {.x = x, .random = p.random(first_sample), .rate = 0.1, .purpose = "a"});
      dropout(p.builder, {.x = p.parameter("flat", Shape{1031}, dtype),
                          .random = p.random(first_sample),
                          .rate = 0.5,
                          .purpose = "b"});
      expect_same_as_reference(p);
    }
}

TEST(DropoutKernel, NumbersRowsOfTheWholeTensor) {
  Problem p;
  const TensorId x = p.normal_input("x", Shape{3, 4, 601});
  const TensorId rows = p.integers("rows", Shape{4}, {0, 7, 2, 5});
  const DropoutArgs args{
      .x = x, .random = p.random(2), .rate = 0.3, .purpose = "tokens", .rows = rows, .whole_rows = 8};
  dropout(p.builder, args);
  expect_same_as_reference(p);
}

TEST(SumRowsKernel, IsTheReference) {
  for (const DType dtype : kStorage)
    for (const Shape& shape :
         {Shape{1, 1}, Shape{65, 7}, Shape{300, 64}, Shape{65, 768}, Shape{3, 3, 3001}, Shape{2, 13, 1023},
          Shape{2100, 40}, Shape{2600, 9}, Shape{200, 2304}, Shape{150, 2205}})
      for (const std::int64_t kept : {0, 1, 2}) {
        Problem p;
        const TensorId x = p.parameter("x", shape, dtype);
        const auto outputs =
            p.builder.add({.kind = OpKind::kSumRows, .inputs = {x}, .attributes = {{"kept_axes", kept}}});
        p.builder.add({.kind = OpKind::kSumRows,
                       .inputs = {x},
                       .attributes = {{"kept_axes", kept}},
                       .into = {{p.parameter("sum", p.builder.shape(outputs[0])), true}}});
        expect_same_as_reference(p);
      }
}

TEST(AllReduceGradKernel, PicksTheExtremeOrDividesTheProduct) {
  for (const DType dtype : kStorage) {
    Problem p;
    const TensorId x = p.parameter("x", Shape{20000}, dtype), y = p.parameter("y", Shape{20000}, dtype);
    for (std::size_t i = 0; i < 20000; i += 3) p.store["y"][i] = p.store["x"][i];
    const TensorId dy = p.parameter("dy", Shape{20000}, dtype);
    for (const char* op : {"max", "min", "prod"})
      p.builder.add(
          {.kind = OpKind::kAllReduceGrad, .inputs = {x, y, dy}, .attributes = {{"op", std::string(op)}}});
    expect_same_as_reference(p);
  }
}

}  // namespace
}  // namespace nadi::inline engines
