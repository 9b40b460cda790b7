#include <gtest/gtest.h>

#include "nadi/graph/ops.h"
#include "nadi/reference/kernel_tests/kernel_check_for_tests.h"
#include "nadi/reference/kernel_tests/run_kernels_for_tests.h"

namespace nadi::inline engines {
namespace {

struct Case {
  std::int64_t rows, width;
  DType x = DType::kF32;
  DType weight = DType::kF32;
};

// Elements far from 0 in part of the row: what a difference of large squares would get wrong.
Doubles shifted_values(const std::string& name, std::int64_t count) {
  Doubles values = normal_values(name, count);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += i % 3 == 0 ? 30 : 20;
  return values;
}

template <class Check>
void for_all_cases(const Check& check) {
  for (const std::int64_t width : {1, 7, 8, 64, 768, 1023})
    for (const std::int64_t rows : {1, 3, 65}) check(Case{rows, width});
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    check(Case{65, 768, dtype, dtype});
    check(Case{5, 1023, dtype, DType::kF32});
  }
}

TEST(LayerNormKernel, IsTheReference) {
  for_all_cases([](const Case& c) {
    Problem p;
    const TensorId x = p.parameter("x", Shape{c.rows, c.width}, c.x);
    p.store.set("x", shifted_values("x", c.rows * c.width));
    layer_norm(p.builder, {.x = x,
                           .weight = p.parameter("weight", Shape{c.width}, c.weight),
                           .bias = p.parameter("bias", Shape{c.width}, c.weight)});
    expect_same_as_reference(p);
  });
}

TEST(LayerNormGradKernel, IsTheReference) {
  for_all_cases([](const Case& c) {
    Problem p;
    const TensorId x = p.parameter("x", Shape{c.rows, c.width}, c.x);
    const TensorId weight = p.parameter("weight", Shape{c.width}, c.weight);
    const TensorId dy = p.parameter("dy", Shape{c.rows, c.width}, c.x);
    const TensorId mean = p.normal_input("mean", Shape{c.rows});
    const TensorId scale = p.normal_input("scale", Shape{c.rows});
    p.builder.add({.kind = OpKind::kLayerNormGrad, .inputs = {x, weight, mean, scale, dy}});
    // Over dy, and added to gradients that are there.
    p.builder.add({.kind = OpKind::kLayerNormGrad,
                   .inputs = {x, weight, mean, scale, dy},
                   .into = {{dy},
                            {p.parameter("dweight", Shape{c.width}), true},
                            {p.parameter("dbias", Shape{c.width}), true}}});
    expect_same_as_reference(p);
  });
}

TEST(RmsNormKernel, IsTheReference) {
  for_all_cases([](const Case& c) {
    Problem p;
    rms_norm(p.builder, {.x = p.parameter("x", Shape{c.rows, c.width}, c.x),
                         .weight = p.parameter("weight", Shape{c.width}, c.weight)});
    expect_same_as_reference(p);
  });
}

TEST(RmsNormGradKernel, IsTheReference) {
  for_all_cases([](const Case& c) {
    Problem p;
    const TensorId x = p.parameter("x", Shape{c.rows, c.width}, c.x);
    const TensorId weight = p.parameter("weight", Shape{c.width}, c.weight);
    const TensorId dy = p.parameter("dy", Shape{c.rows, c.width}, c.x);
    const TensorId scale = p.normal_input("scale", Shape{c.rows});
    p.builder.add({.kind = OpKind::kRmsNormGrad, .inputs = {x, weight, scale, dy}});
    p.builder.add({.kind = OpKind::kRmsNormGrad,
                   .inputs = {x, weight, scale, dy},
                   .into = {{dy}, {p.parameter("dweight", Shape{c.width}), true}}});
    expect_same_as_reference(p);
  });
}

// Each of 4096 rows adds 1 + 2^-16, in all 4096.0625. From 256 on, an fp32 sum has no bit for the 2^-16.
TEST(RmsNormGradKernel, SumsManyRows) {
  Problem p;
  constexpr std::int64_t kRows = 4096, kWidth = 8;
  const TensorId x = p.input("x", Shape{kRows, kWidth}, Doubles(kRows * kWidth, 1 + 0x1p-16));
  const TensorId weight = p.input("weight", Shape{kWidth}, Doubles(kWidth, 1));
  const TensorId dy = p.input("dy", Shape{kRows, kWidth}, Doubles(kRows * kWidth, 1));
  const TensorId scale = p.input("scale", Shape{kRows}, Doubles(kRows, 1));
  p.output(p.builder.add({.kind = OpKind::kRmsNormGrad, .inputs = {x, weight, scale, dy}})[1]);
  for (const int threads : {1, 2, 3})
    EXPECT_EQ(run_kernels_for_floats(p, threads), std::vector<float>(kWidth, 4096.0625F));
}

}  // namespace
}  // namespace nadi::inline engines
