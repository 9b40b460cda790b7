// SGD-SaI by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "nadi/graph/ops.h"
#include "nadi/reference/problem_for_tests.h"

namespace nadi::inline engines {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TensorId state(Problem& p, const std::string& name, const Shape& shape, Doubles values) {
  p.store.set(name, std::move(values));
  return p.builder.variable({.name = name, .shape = shape, .role = Role::kOptimizerState});
}

// p = (2, -1) with u = (4, 0), momentum 0.9, rate 0.1, decay 0.01. g = (2, 6) scaled by 0.5 is (1, 3): norm
// sqrt(10), deviation sqrt(2).
Problem two_elements(double loss_scale = 1) {
  Problem p;
  sgd_sai(p.builder, {.update = {.parameter = state(p, "p", Shape{2}, {1.9, -1.1}),
                                 .gradient = p.input("g", Shape{2}, {2 * loss_scale, 6 * loss_scale}),
                                 .master = state(p, "master", Shape{2}, {2, -1}),
                                 .learning_rate = p.scalar("learning_rate", 0.1),
                                 .grad_scale = p.scalar("grad_scale", 0.5 / loss_scale),
                                 .found_inf = p.scalar("found_inf", 0)},
                      .momentum_buffer = state(p, "u", Shape{2}, {4, 0}),
                      .lr_scale = state(p, "s", Shape{1}, {0}),
                      .momentum = 0.9,
                      .weight_decay = 0.01});
  return p;
}

TEST(SgdSai, TakesItsScaleFromTheFirstGradient) {
  Problem p = two_elements();
  p.run();
  const double s = std::sqrt(10) / (std::sqrt(2) + 1e-8);
  EXPECT_NEAR(p.store.get("s")[0], s, 1e-12);
  EXPECT_NEAR(p.store.get("u")[0], 0.9 * 4 + 0.1 * 1, 1e-15);
  EXPECT_NEAR(p.store.get("u")[1], 0.1 * 3, 1e-15);
  EXPECT_NEAR(p.store.get("p")[0], 2 * 0.999 - 0.1 * s * 3.7, 1e-12);
  EXPECT_NEAR(p.store.get("p")[1], -0.999 - 0.1 * s * 0.3, 1e-12);
  EXPECT_EQ(p.store.get("p"), p.store.get("master"));

  const Doubles before = p.store.get("p");
  p.store.set("g", {-8, 1000});  // another ratio
  p.run();
  EXPECT_NEAR(p.store.get("s")[0], s, 1e-12);
  EXPECT_NEAR(p.store.get("p")[0], before[0] * 0.999 - 0.1 * s * (0.9 * 3.7 - 0.1 * 4), 1e-12);
}

TEST(SgdSai, DoesNotLoseItsScaleToAnOverflow) {
  Problem p = two_elements();
  p.store.set("g", {kInfinity, 0});
  p.store.set("found_inf", {1});
  p.run();
  EXPECT_EQ(p.store.get("s"), (Doubles{0}));
  EXPECT_EQ(p.store.get("p"), (Doubles{1.9, -1.1}));
  EXPECT_EQ(p.store.get("master"), (Doubles{2, -1}));
  EXPECT_EQ(p.store.get("u"), (Doubles{4, 0}));
  p.store.set("g", {2, 6});
  p.store.set("found_inf", {0});
  p.run();
  Problem calm = two_elements();
  calm.run();
  EXPECT_EQ(p.store.get("s"), calm.store.get("s"));
  EXPECT_EQ(p.store.get("p"), calm.store.get("p"));
}

TEST(SgdSai, DoesNotDependOnTheLossScale) {
  Problem plain = two_elements(), scaled = two_elements(1024);
  plain.run();
  scaled.run();
  EXPECT_EQ(scaled.store.get("s"), plain.store.get("s"));
  EXPECT_EQ(scaled.store.get("p"), plain.store.get("p"));
}

TEST(SgdSai, IsPlainSgdForOneElementWithoutMomentum) {
  Problem p;
  sgd_sai(p.builder, {.update = {.parameter = state(p, "p", Shape{1}, {2}),
                                 .gradient = p.input("g", Shape{1}, {-3}),
                                 .learning_rate = p.scalar("learning_rate", 0.1)},
                      .lr_scale = state(p, "s", Shape{1}, {0})});
  p.run();
  EXPECT_EQ(p.store.get("s"), (Doubles{1}));
  EXPECT_NEAR(p.store.get("p")[0], 2 + 0.1 * 3, 1e-15);
}

TEST(SgdSai, WaitsForAGradientThatIsNotZero) {
  Problem p = two_elements();
  p.store.set("g", {0, 0});
  p.run();
  EXPECT_EQ(p.store.get("s"), (Doubles{0}));
  EXPECT_NEAR(p.store.get("p")[0], 2 * 0.999, 1e-15);
  p.store.set("g", {2, 6});
  p.run();
  EXPECT_NEAR(p.store.get("s")[0], std::sqrt(5), 1e-7);
}

}  // namespace
}  // namespace nadi::inline engines
