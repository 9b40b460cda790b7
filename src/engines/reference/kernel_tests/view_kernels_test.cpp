#include <gtest/gtest.h>

#include <array>

#include "nadi/graph/ops.h"
#include "nadi/reference/kernel_tests/kernel_check_for_tests.h"
#include "nadi/reference/kernel_tests/run_kernels_for_tests.h"

namespace nadi::inline engines {
namespace {

constexpr DType kStorage[]{DType::kF32, DType::kBF16, DType::kF16};

TEST(CopyKernel, CopiesAndCastsAnyStrides) {
  for (const DType from : kStorage)
    for (const DType to : kStorage) {
      Problem p;
      const TensorId x = p.parameter("x", Shape{3, 5, 3, 191}, from);
      const std::array<std::int64_t, 2> extents{20, 171};
      const TensorId narrow = split(p.builder, x, 3, extents)[1];
      for (const TensorId view :
           {x, permute(p.builder, x, {0, 2, 1, 3}), permute(p.builder, x, {3, 2, 1, 0}), narrow}) {
        copy(p.builder, view);
        cast(p.builder, view, to);
        p.builder.add(
            {.kind = OpKind::kCopy,
             .inputs = {view},
             .into = {{p.parameter("sum" + p.builder.tensor(view).name, p.builder.shape(view), to), true}}});
      }
      expect_same_as_reference(p);
    }
}

TEST(CopyKernel, CopiesIntegers) {
  Problem p;
  const TensorId x = p.integers("x", Shape{2, 3}, {1, 2, 3, 4, 5, 1 << 30});
  copy(p.builder, x);
  copy(p.builder, permute(p.builder, x, {1, 0}));
  expect_same_as_reference(p);
}

TEST(CopyKernel, CopiesAllOfABucket) {
  // In a group of one rank, what a bucket sums is what is there.
  Problem p;
  const TensorId a = p.input("a", Shape{2}, {1, 2}), b = p.input("b", Shape{3}, {3, 4, 5});
  const TensorId c = p.parameter("c", Shape{2}), d = p.parameter("d", Shape{3});
  p.builder.add({.kind = OpKind::kAllReduce,
                 .inputs = {a, b},
                 .attributes = {{"group", std::string("dp")}, {"group_size", std::int64_t{1}}},
                 .into = {{c}, {d}}});
  p.output(d);
  EXPECT_EQ(run_kernels_for_floats(p, 2), (std::vector<float>{3, 4, 5}));
}

// A kernel that takes no strides is given a contiguous copy; that it adds to its output is its own matter.
TEST(StridedOperands, AreCopiedForKernelsThatTakeNone) {
  for (const DType dtype : kStorage) {
    Problem p;
    const TensorId x = p.parameter("x", Shape{2, 5, 3, 24}, dtype);
    const TensorId view = permute(p.builder, x, {0, 2, 1, 3});
    repeat_heads(p.builder, view, 2);
    p.builder.add({.kind = OpKind::kGelu,
                   .inputs = {view},
                   .into = {{p.parameter("sum", p.builder.shape(view), dtype), true}}});
    expect_same_as_reference(p);
  }
}

TEST(ConcatKernel, JoinsAlongAnyAxis) {
  for (const DType dtype : kStorage)
    for (const int axis : {0, 1, 2}) {
      Problem p;
      Shape first{2, 9, 531}, second{2, 9, 531};
      second.set(axis, 3);
      const std::array<TensorId, 3> parts{p.parameter("a", first, dtype), p.parameter("b", second, dtype),
                                          p.parameter("c", first, dtype)};
      concat(p.builder, parts, axis);
      expect_same_as_reference(p);
    }
}

TEST(FillKernel, SetsEveryElement) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kI32, DType::kI64})
    for (const std::int64_t elements : {1, 513, 20000}) {
      Problem p;
      fill(p.builder, p.parameter("x", Shape{elements}, dtype), 3);
      expect_same_as_reference(p);
    }
}

}  // namespace
}  // namespace nadi::inline engines
