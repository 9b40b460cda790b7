#include <gtest/gtest.h>

#include "nadi/plan/random_questions_for_tests.h"

namespace nadi::inline predict {
namespace {

TEST(PlanBruteForce, OfAFewPlansIsWhatSearchesFind) {
  expect_best_of_random_cases({.cases = 8, .most = 1'500}, 1);
}

}  // namespace
}  // namespace nadi::inline predict
