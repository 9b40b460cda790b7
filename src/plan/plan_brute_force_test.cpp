#include <gtest/gtest.h>

#include "nadi/plan/random_questions_for_tests.h"

namespace nadi {
namespace {

TEST(PlanBruteForce, OfAFewPlansIsWhatSearchesFind) {
  expect_best_of_random_cases({.cases = 20, .most = 1'500}, 1);
}

// Layers are spread over chunks where partitions are 4 or more: what searches of large spaces do.
TEST(PlanBruteForce, OfSpreadLayersIsWhatSearchesFind) {
  expect_best_of_random_cases({.cases = 12, .most = 1'500, .few_partitions = 4}, 4);
}

}  // namespace
}  // namespace nadi
