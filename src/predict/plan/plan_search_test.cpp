#include "nadi/plan/plan_search.h"

#include <gtest/gtest.h>

#include "nadi/plan/plan_brute_force_for_tests.h"
#include "nadi/plan/search_core.h"

namespace nadi::inline predict {
namespace {

void expect_best(const PlanQuestion& question, std::int64_t fewest_plans) {
  const PlanSpaceFigures figures = figures_of_every_plan(question);
  EXPECT_GE(figures.plans, fewest_plans);
  EXPECT_FALSE(figures.spreads);
  const double best = figures.best(question);
  const PlanAnswer answer = search_plans(question, {.top = 3});
  ASSERT_FALSE(answer.plans.empty());
  EXPECT_NEAR(best_estimate(question, answer), best, 1e-12 * best) << figures.plans << " plans";
  EXPECT_NEAR(answer.lower_bound, best, 1e-12 * best);
  EXPECT_EQ(answer.gap, 0);
  EXPECT_LT(answer.evaluated, figures.plans);
}

TEST(PlanSearch, FindsTheFastestOfAllPlansOnEqualNodes) {
  expect_best(question_of(cluster_for_tests(2, 2), 6, 4), 2000);
}

TEST(PlanSearch, FindsTheFastestOfAllPlansOnNodesOfTwoKinds) {
  PlanQuestion question = question_of(mixed_cluster({}), 4, 4);
  expect_best(question, 5000);
}

TEST(PlanSearch, FindsTheFastestOfAllPlansOnNodesOfOtherSizes) {
  PlanQuestion question =
      question_of(mixed_cluster({.fast = 2, .slow = 1, .fast_devices = 1, .slow_devices = 3}), 4, 6);
  question.space.schedules = {ScheduleKind::k1F1B, ScheduleKind::kGPipe};
  expect_best(question, 2000);
}

// However little work it may do, what it says is proven is true, and does not depend on threads.
TEST(PlanSearch, HasABoundAfterAnyWork) {
  const PlanQuestion question = question_of(mixed_cluster({}), 4, 4);
  const double best = figures_of_every_plan(question).best(question);
  const std::vector<std::int32_t> nodes{1, 2};
  double first_bound = 0;
  for (const std::int64_t work : {0, 1, 2000, 20'000, 1'000'000'000}) {
    const SearchOptions one{.threads = 1}, three{.threads = 3};
    const CoreAnswer answer = SearchCore(question, one, 1).run({.nodes = nodes, .work = work});
    const CoreAnswer of_three = SearchCore(question, three, 1).run({.nodes = nodes, .work = work});
    EXPECT_LE(answer.lower_bound, best * (1 + 1e-12)) << work;
    EXPECT_GE(answer.lower_bound, first_bound) << work;
    EXPECT_EQ(answer.lower_bound, of_three.lower_bound) << work;
    EXPECT_EQ(answer.evaluated, of_three.evaluated) << work;
    EXPECT_EQ(answer.work, of_three.work) << work;
    EXPECT_EQ(answer.plans.empty(), work == 0) << work;
    if (work == 0) first_bound = answer.lower_bound;
  }
}

TEST(PlanSearch, FindsTheFastestOfAllPlansThatFitInLittleMemory) {
  PlanQuestion question = question_of(mixed_cluster({.memory = 38'000'000}), 4, 4);
  const PlanSpaceFigures figures = figures_of_every_plan(question);
  ASSERT_LT(std::ssize(figures.fitting), figures.plans / 2);
  ASSERT_GT(figures.fitting.size(), 10u);
  expect_best(question, 5000);
}

TEST(PlanSearch, FindsTheCheapestOfAllPlans) {
  PlanQuestion question = question_of(mixed_cluster({}), 4, 4);
  question.objective = PlanObjective::kCost;
  question.space.schedules = {ScheduleKind::k1F1B};
  expect_best(question, 2000);
}

TEST(PlanSearch, FindsTheSmallestOfAllPlans) {
  PlanQuestion question = question_of(mixed_cluster({}), 4, 4);
  question.objective = PlanObjective::kMemory;
  expect_best(question, 5000);
}

TEST(PlanSearch, FindsTheFastestOfAllPlansWithinABudget) {
  PlanQuestion question = question_of(mixed_cluster({}), 4, 4);
  question.space.schedules = {ScheduleKind::k1F1B};
  question.objective = PlanObjective::kCost;
  const PlanAnswer cheapest = search_plans(question, {.top = 1});
  const double tokens = static_cast<double>(question.global_batch_size * question.request.seq_length);
  question.limits.dollars_per_million_tokens = 1.1 * best_estimate(question, cheapest) / tokens * 1e6;
  question.objective = PlanObjective::kTime;
  expect_best(question, 2000);
}

TEST(PlanSearch, GivesTheSameAnswerOnAnyNumberOfThreads) {
  const PlanQuestion question = question_of(mixed_cluster({}), 4, 4);
  std::vector<std::vector<Nanoseconds>> evaluated;
  std::vector<PlanAnswer> answers;
  for (const int threads : {1, 3}) {
    evaluated.emplace_back();
    answers.push_back(search_plans(
        question,
        {.top = 5, .threads = threads, .every = [&](const PlanCandidate&, const PlanEstimate& estimate) {
           evaluated.back().push_back(estimate.iteration);
         }}));
  }
  EXPECT_EQ(evaluated[0], evaluated[1]);
  EXPECT_EQ(answers[0].evaluated, answers[1].evaluated);
  EXPECT_EQ(std::ssize(evaluated[0]), answers[0].evaluated);
  ASSERT_EQ(answers[0].plans.size(), answers[1].plans.size());
  for (std::size_t i = 0; i < answers[0].plans.size(); ++i) {
    const RankedPlan &a = answers[0].plans[i], &b = answers[1].plans[i];
    EXPECT_EQ(a.simulated, b.simulated);
    EXPECT_EQ(a.candidate.plan.partition, b.candidate.plan.partition);
    EXPECT_EQ(a.candidate.nodes, b.candidate.nodes);
    EXPECT_EQ(a.candidate.plan.micro_batches, b.candidate.plan.micro_batches);
  }
}

TEST(PlanSearch, RanksByTheSimulator) {
  const PlanQuestion question = question_of(mixed_cluster({}), 4, 4);
  const PlanAnswer answer = search_plans(question, {.top = 4});
  EXPECT_EQ(answer.simulated, 8);
  ASSERT_EQ(answer.plans.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(answer.plans[i].simulated);
    EXPECT_EQ(*answer.plans[i].simulated, simulate_plan(question, answer.plans[i].candidate).iteration_time);
    if (i > 0) {
      EXPECT_LE(*answer.plans[i - 1].simulated, *answer.plans[i].simulated);
    }
  }
}

TEST(PlanSearch, KeepsToTheSpaceThatIsAskedFor) {
  PlanQuestion question = question_of(mixed_cluster({}), 4, 4);
  question.space = {.tp = {2}, .dp = {1}, .pp = {3}, .micro_batch_sizes = {1}, .partition = {1, 2, 1}};
  const PlanAnswer given = search_plans(question, {.top = 1});
  ASSERT_EQ(given.plans.size(), 1u);
  EXPECT_EQ(given.plans[0].candidate.plan.partition, (std::vector<std::int64_t>{1, 2, 1}));
  question.space.partition.clear();
  question.space.uneven_partitions = false;
  const PlanAnswer even = search_plans(question, {.top = 1});
  ASSERT_EQ(even.plans.size(), 1u);
  EXPECT_EQ(even.plans[0].candidate.plan.partition, (std::vector<std::int64_t>{2, 1, 1}));
  question.space = {.unused_devices = false};
  for (const RankedPlan& plan : search_plans(question, {.top = 5}).plans)
    EXPECT_EQ(plan.candidate.plan.world_size(), question.cluster.device_count());
}

TEST(PlanSearch, SaysHowMuchMemoryIsMissingWhereNothingFits) {
  const PlanQuestion question = question_of(mixed_cluster({.memory = 1'000'000}), 4, 4);
  const PlanAnswer answer = search_plans(question, {});
  EXPECT_TRUE(answer.plans.empty());
  EXPECT_GT(answer.out_of_memory, 0);
  ASSERT_TRUE(answer.nearest);
  EXPECT_GT(answer.nearest->missing_memory.count(), 0);
  EXPECT_EQ(answer.nearest->missing_memory, answer.nearest->plan.estimate.missing_memory);
}

TEST(PlanSearch, SaysByHowMuchLimitsAreMissed) {
  PlanQuestion question = question_of(mixed_cluster({}), 4, 4);
  const Nanoseconds fastest = search_plans(question, {.top = 1}).plans[0].estimate.iteration;
  question.limits.step_time = Nanoseconds{fastest.count() / 2};
  const PlanAnswer slow = search_plans(question, {});
  EXPECT_TRUE(slow.plans.empty());
  ASSERT_TRUE(slow.nearest && slow.nearest->missing_time);
  EXPECT_EQ(slow.nearest->plan.estimate.iteration, *question.limits.step_time + *slow.nearest->missing_time);
  question.limits = {.dollars_per_million_tokens = 1e-9};
  const PlanAnswer dear = search_plans(question, {});
  EXPECT_TRUE(dear.plans.empty());
  ASSERT_TRUE(dear.nearest && dear.nearest->missing_dollars_per_million_tokens);
  EXPECT_GT(*dear.nearest->missing_dollars_per_million_tokens, 0);
}

TEST(PlanSearch, ThatIsStoppedGivesWhatItHas) {
  const PlanQuestion question = question_of(mixed_cluster({}), 4, 4);
  const PlanAnswer whole = search_plans(question, {.top = 1});
  bool had_plans = false;
  for (int patience = 1; patience < 1'000'000; patience *= 2) {
    int asked = 0;
    const PlanAnswer part =
        search_plans(question, {.top = 1, .threads = 1, .stop = [&] { return ++asked > patience; }});
    if (!part.stopped) break;
    EXPECT_LE(part.lower_bound, best_estimate(question, whole) * (1 + 1e-12)) << patience;
    if (part.plans.empty()) continue;
    had_plans = true;
    EXPECT_GE(best_estimate(question, part), best_estimate(question, whole)) << patience;
  }
  EXPECT_TRUE(had_plans);
}

}  // namespace
}  // namespace nadi::inline predict
