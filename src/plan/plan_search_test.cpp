#include "nadi/plan/plan_search.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/plan/placement_orders.h"
#include "nadi/plan/plan_confirmation.h"
#include "nadi/plan/plan_space.h"
#include "nadi/sim/cluster_for_tests.h"

namespace nadi {
namespace {

ModelConfig model_to_plan(std::int64_t layers) {
  ModelConfig config = tiny_model(Architecture::kGpt2, layers);
  config.width = 256;
  config.head_width = 64;
  config.ffn_width = 1024;
  config.vocabulary = 2000;
  config.positions = 128;
  return config;
}

// `slow` nodes have half of the speed, another number of devices, and a lower price.
struct MixedNodes {
  std::int32_t fast = 1, slow = 2;
  std::int32_t fast_devices = 2, slow_devices = 2;
  std::int64_t memory = 16'000'000'000;
};
Cluster mixed_cluster(const MixedNodes& mixed) {
  Cluster cluster = cluster_for_tests(mixed.fast + mixed.slow, mixed.fast_devices);
  cluster.devices.front().memory = Bytes{mixed.memory};
  cluster.kinds.front().price_per_hour = 8;
  DeviceSpec device = cluster.devices.front();
  device.name = "slow";
  for (FlopRate& peak : device.matrix_peak) peak = FlopRate{0.5e12};
  device.memory_bandwidth = ByteRate{0.4e12};
  cluster.devices.push_back(device);
  NodeSpec node = cluster.kinds.front();
  node.name = "slow";
  node.device = 1;
  node.devices = mixed.slow_devices;
  node.price_per_hour = 3;
  cluster.kinds.push_back(node);
  for (std::int32_t i = 0; i < mixed.slow; ++i) cluster.nodes[static_cast<std::size_t>(mixed.fast + i)] = 1;
  return cluster;
}

PlanQuestion question_of(const Cluster& cluster, std::int64_t layers, std::int64_t batch) {
  PlanQuestion question{.config = model_to_plan(layers), .cluster = cluster};
  question.request.seq_length = 128;
  question.global_batch_size = batch;
  return question;
}

// Every plan of the space, in no clever way: all settings, all sequences of what stages can be made of, all
// partitions.
void every_plan(const PlanQuestion& question,
                const std::function<void(const PlanCandidate&, const PlanEstimate&)>& visit) {
  PlanEstimator estimator(question);
  std::vector<std::int32_t> nodes(question.cluster.kinds.size());
  for (const std::int32_t kind : question.cluster.nodes) ++nodes[static_cast<std::size_t>(kind)];
  for (const PlanSetting& setting : plan_settings(question, question.cluster.device_count())) {
    const Plan& plan = setting.plan;
    const StageMakes makes = stage_makes(
        question.cluster, nodes, {.ranks = setting.ranks_per_stage(), .tp = plan.tp, .stages = plan.pp});
    std::vector<std::int32_t> order, left = nodes;
    std::vector<std::int64_t> partition;
    const std::function<void(std::int64_t)> place_layers = [&](std::int64_t rest) {
      if (std::ssize(partition) + 1 == plan.pp * plan.virtual_stages) {
        partition.push_back(rest);
        const PlanCandidate candidate = candidate_of(setting, runs_of(makes, order), partition);
        visit(candidate, estimator.of(candidate));
        partition.pop_back();
        return;
      }
      for (std::int64_t layers = 0; layers <= rest; ++layers) {
        partition.push_back(layers);
        place_layers(rest - layers);
        partition.pop_back();
      }
    };
    const std::function<void()> place_stages = [&] {
      if (std::ssize(order) == plan.pp) return place_layers(question.config.layers);
      for (std::int32_t m = 0; m < std::ssize(makes.makes); ++m) {
        const StageMake& make = makes.makes[static_cast<std::size_t>(m)];
        bool enough = true;
        for (const NodeRun& run : make.nodes)
          enough = (left[static_cast<std::size_t>(run.kind)] -= run.count) >= 0 && enough;
        const std::int64_t stages = std::min(make.stages, plan.pp - std::ssize(order));
        order.insert(order.end(), static_cast<std::size_t>(stages), m);
        if (enough) place_stages();
        order.resize(order.size() - static_cast<std::size_t>(stages));
        for (const NodeRun& run : make.nodes) left[static_cast<std::size_t>(run.kind)] += run.count;
      }
    };
    place_stages();
  }
}

struct BestOfAll {
  double objective = std::numeric_limits<double>::infinity();
  std::int64_t plans = 0, fitting = 0;
};
BestOfAll best_of_all_plans(const PlanQuestion& question) {
  BestOfAll best;
  const double tokens = static_cast<double>(question.global_batch_size * question.request.seq_length);
  every_plan(question, [&](const PlanCandidate&, const PlanEstimate& estimate) {
    ++best.plans;
    if (!estimate.fits()) return;
    ++best.fitting;
    const PlanLimits& limits = question.limits;
    if (limits.step_time && estimate.iteration > *limits.step_time) return;
    if (limits.dollars_per_million_tokens &&
        *estimate.dollars_per_step / tokens * 1e6 > *limits.dollars_per_million_tokens)
      return;
    best.objective = std::min(best.objective, objective_of(question.objective, estimate));
  });
  return best;
}

double best_estimate(const PlanQuestion& question, const PlanAnswer& answer) {
  double best = std::numeric_limits<double>::infinity();
  for (const RankedPlan& plan : answer.plans)
    best = std::min(best, objective_of(question.objective, plan.estimate));
  return best;
}

void expect_best(const PlanQuestion& question, std::int64_t fewest_plans) {
  const BestOfAll best = best_of_all_plans(question);
  EXPECT_GE(best.plans, fewest_plans);
  EXPECT_LE(best.plans, 100'000);
  const PlanAnswer answer = search_plans(question, {.top = 3});
  ASSERT_FALSE(answer.plans.empty());
  EXPECT_NEAR(best_estimate(question, answer), best.objective, 1e-12 * best.objective)
      << best.plans << " plans";
  EXPECT_NEAR(answer.lower_bound, best.objective, 1e-12 * best.objective);
  EXPECT_EQ(answer.gap, 0);
  EXPECT_LT(answer.evaluated, best.plans);
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

TEST(PlanSearch, FindsTheFastestOfAllPlansThatFitInLittleMemory) {
  PlanQuestion question = question_of(mixed_cluster({.memory = 38'000'000}), 4, 4);
  const BestOfAll best = best_of_all_plans(question);
  ASSERT_LT(best.fitting, best.plans / 2);
  ASSERT_GT(best.fitting, 10);
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
  int asked = 0;
  const PlanAnswer part = search_plans(question, {.top = 1, .stop = [&] { return ++asked > 1; }});
  EXPECT_TRUE(part.stopped);
  ASSERT_FALSE(part.plans.empty());
  EXPECT_LE(part.lower_bound, best_estimate(question, whole) * (1 + 1e-12));
  EXPECT_GE(best_estimate(question, part), best_estimate(question, whole));
}

}  // namespace
}  // namespace nadi
