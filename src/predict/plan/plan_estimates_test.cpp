#include "nadi/plan/plan_estimates.h"

#include <gtest/gtest.h>

#include "nadi/plan/plan_brute_force_for_tests.h"

namespace nadi::inline predict {
namespace {

TEST(EstimatesOfAList, AreThoseOfItsPlansOnAnyNumberOfThreads) {
  const PlanQuestion question = question_of(mixed_cluster({}), 3, 4);
  std::vector<PlanCandidate> plans;
  EveryPlan(question, [&](const PlanCandidate& candidate) {
    plans.push_back(candidate);
    return true;
  }).run();
  ASSERT_GT(plans.size(), 100u);
  PlanEstimator estimator(question);
  for (const int threads : {1, 3, 100}) {
    const std::vector<PlanEstimate> estimates = estimates_of(question, plans, threads);
    ASSERT_EQ(estimates.size(), plans.size());
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const PlanEstimate alone = estimator.of(plans[i]);
      ASSERT_EQ(estimates[i].iteration, alone.iteration) << i << " on " << threads;
      ASSERT_EQ(estimates[i].missing_memory, alone.missing_memory) << i << " on " << threads;
    }
  }
  EXPECT_TRUE(estimates_of(question, {}, 2).empty());
}

}  // namespace
}  // namespace nadi::inline predict
