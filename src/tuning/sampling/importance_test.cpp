#include "nadi/sampling/importance.h"

#include <gtest/gtest.h>

#include "nadi/sampling/sampler.h"

namespace nadi::inline tuning {
namespace {

TEST(Importance, OfAnAdditiveFunctionIsTheShareOfItsVariances) {
  // Variances on [0, 1]: 2x 4/12, y 1/12, z none: shares 0.8, 0.2, 0. The choice c adds 0 or 1: 1/4 = 3/12.
  SearchSpace space;
  space.parameters = {float_parameter("x", 0, 1), float_parameter("y", 0, 1), float_parameter("z", 0, 1),
                      choice_parameter("c", 2)};
  const auto sampler = make_sampler({.name = "quasi-random", .seed = 3}, space);
  TrialHistory history{.maximize = {false, true}};
  for (int number = 0; number < 400; ++number) {
    const std::vector<double> p = *sampler->suggest({}, number);
    history.trials.push_back({.number = number,
                              .outcome = TrialOutcome::kComplete,
                              .point = p,
                              .values = {2 * p[0] + p[1], 2 * p[0] + p[1] + p[3]}});
  }
  const std::vector<double> first = parameter_importance(space, history, 0);
  ASSERT_EQ(first.size(), 4U);
  EXPECT_NEAR(first[0], 0.8, 0.04);
  EXPECT_NEAR(first[1], 0.2, 0.04);
  EXPECT_LT(first[2] + first[3], 0.01);
  const std::vector<double> second = parameter_importance(space, history, 1);
  EXPECT_NEAR(second[0], 0.5, 0.05);  // 4, 1, 3 twelfths
  EXPECT_NEAR(second[3], 0.375, 0.05);
  EXPECT_EQ(second, parameter_importance(space, history, 1));
}

TEST(Importance, NeedsTrialsThatDiffer) {
  SearchSpace space;
  space.parameters = {float_parameter("x", 0, 1)};
  TrialHistory history;
  EXPECT_TRUE(parameter_importance(space, history, 0).empty());
  for (int number = 0; number < 9; ++number)
    history.trials.push_back(
        {.number = number, .outcome = TrialOutcome::kComplete, .point = {number / 9.0}, .values = {1}});
  EXPECT_TRUE(parameter_importance(space, history, 0).empty());
}

}  // namespace
}  // namespace nadi::inline tuning
