#include <gtest/gtest.h>

#include "nadi/plan/random_questions_for_tests.h"

namespace nadi::inline predict {
namespace {

TEST(PlanBruteForce, OfHundredsOfPlansIsWhatSearchesFind) {
  expect_best_of_random_cases({.cases = 20, .most = 1'500}, 6);
}

TEST(PlanBruteForce, OfThousandsOfPlansIsWhatSearchesFind) {
  expect_best_of_random_cases({.cases = 8, .fewest = 3'000, .most = 20'000}, 2);
}

TEST(PlanBruteForce, OfUpTo100000PlansIsWhatSearchesFind) {
  expect_best_of_random_cases({.cases = 5, .fewest = 20'000}, 3);
}

// Layers are spread over chunks where partitions are 4 or more: what searches of large spaces do.
TEST(PlanBruteForce, OfSpreadLayersIsWhatSearchesFind) {
  expect_best_of_random_cases({.cases = 12, .most = 1'500, .few_partitions = 4}, 4);
}

TEST(PlanBruteForce, OfThousandsOfPlansWithSpreadLayersIsWhatSearchesFind) {
  expect_best_of_random_cases({.cases = 6, .fewest = 2'000, .most = 30'000, .few_partitions = 4}, 5);
}

}  // namespace
}  // namespace nadi::inline predict
