#include <gtest/gtest.h>

#include <ostream>

#include "nadi/graph/ops.h"
#include "nadi/reference/kernel_tests/kernel_check_for_tests.h"

namespace nadi::inline engines {
namespace {

struct SgdSaiCase {
  std::int64_t elements;
  bool momentum = true;
  DType dtype = DType::kF32;  // of the parameter; with a master when it is not fp32
  double lr_scale = 0;        // 0 means to be taken
  double found_inf = 0;
};

void PrintTo(const SgdSaiCase& c, std::ostream* out) {
  *out << c.elements << " of " << to_string(c.dtype) << (c.momentum ? " with momentum" : "") << ", scale "
       << c.lr_scale << ", found_inf " << c.found_inf;
}

Problem problem_of(const SgdSaiCase& c) {
  Problem p;
  const Shape shape{c.elements};
  const auto state = [&](const std::string& name, const Shape& extent, Doubles values) {
    p.store.set(name, std::move(values));
    return p.builder.variable({.name = name, .shape = extent, .role = Role::kOptimizerState});
  };
  const bool master = c.dtype != DType::kF32;
  sgd_sai(p.builder,
          {.update = {.parameter = p.parameter("p", shape, c.dtype),
                      .gradient = p.normal_input("g", shape),
                      .master = master ? state("master", shape, normal_values("p", c.elements)) : kNoTensor,
                      .learning_rate = p.scalar("learning_rate", 0.125),
                      .grad_scale = p.scalar("grad_scale", 0.5),
                      .found_inf = p.scalar("found_inf", c.found_inf),
                      .decay_factor = p.scalar("decay_factor", 0.25)},
           .momentum_buffer = c.momentum ? state("u", shape, normal_values("u", c.elements)) : kNoTensor,
           .lr_scale = state("s", Shape{1}, {c.lr_scale}),
           .momentum = 0.9,
           .weight_decay = 0.1});
  return p;
}

class SgdSai : public testing::TestWithParam<SgdSaiCase> {};

TEST_P(SgdSai, MakesTheStepOfTheReference) {
  expect_same_as_reference(problem_of(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(All, SgdSai,
                         testing::Values(SgdSaiCase{1}, SgdSaiCase{2}, SgdSaiCase{513},
                                         SgdSaiCase{100'000},  // worth two threads
                                         SgdSaiCase{1000, false}, SgdSaiCase{1000, true, DType::kF32, 12.5},
                                         SgdSaiCase{1000, true, DType::kBF16},
                                         SgdSaiCase{1000, false, DType::kF16},
                                         SgdSaiCase{1000, true, DType::kBF16, 0, 1},
                                         SgdSaiCase{1000, false, DType::kF32, 12.5, 1}));

// A mean a million times the deviation: the sum of squares alone has lost it.
TEST(SgdSai, FindsASmallDeviationAroundALargeMean) {
  Problem p = problem_of({.elements = 20'000, .momentum = false});
  Doubles gradient = normal_values("g", 20'000);
  for (double& g : gradient) g = 64 + g / 16384;
  p.store.set("g", gradient);
  expect_same_as_reference(p);
  // All equal: the deviation is exactly 0, and s = |g| / 1e-8.
  p.store.set("g", Doubles(20'000, 0.1));
  p.store.set("s", {0});
  expect_same_as_reference(p);
  p.store.set("g", Doubles(20'000, 0.0));
  p.store.set("s", {0});
  expect_same_as_reference(p);
  p.run();
  EXPECT_EQ(p.store.get("s"), (Doubles{0}));
}

}  // namespace
}  // namespace nadi::inline engines
