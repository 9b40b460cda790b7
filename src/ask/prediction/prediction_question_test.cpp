#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/prediction/planning_question.h"
#include "nadi/prediction/simulation_question.h"

namespace nadi::inline ask {
namespace {

using testing::HasSubstr;

// Eight stages of GPT-2 XL, as FASOP trained it; the programs on that cluster had unfused attention.
SimulationQuestion fasop() {
  return {.step = {.model = "gpt2-xl",
                   .plan = {.dp = 4, .pp = 8, .partition = {0, 11, 8, 8, 8, 8, 5, 0}},
                   .global_batch_size = 64,
                   .micro_batch_size = 1},
          .on = {.cluster = "a10-8x4"}};
}

TEST(Assumptions, ADefaultThatIsNamedChangesNothing) {
  const SimulationAnswer answer = simulate(fasop());
  const PredictionAssumptions& assumed = answer.asked.assumed;
  EXPECT_EQ(assumed.framework->name, "nadi");
  EXPECT_EQ(assumed.fused_attention, false);
  EXPECT_EQ(assumed.attention_from, AttentionSource::kCluster);
  SimulationQuestion named = fasop();
  named.on.framework = "nadi";
  EXPECT_EQ(simulate(named).result.iteration_time, answer.result.iteration_time);
  named.step.fused_attention = false;
  named.on.gradient_dtype = DType::kF16;
  EXPECT_EQ(simulate(named).result.iteration_time, answer.result.iteration_time);
  EXPECT_EQ(simulate(named).asked.assumed.attention_from, AttentionSource::kAsked);
  named.step.fused_attention = true;
  EXPECT_LT(simulate(named).result.iteration_time, answer.result.iteration_time);
}

// Its time in a search is that of the simulation: the space has this plan alone.
TEST(Assumptions, APlanTakesWhatItsSimulationTakes) {
  const SimulationQuestion question = fasop();
  PlanningQuestion planning{.step = {.model = "gpt2-xl", .global_batch_size = 64}, .on = question.on};
  planning.space = {.tp = {1},
                    .dp = {4},
                    .pp = {8},
                    .micro_batch_sizes = {1},
                    .zero_stages = {0},
                    .sequence_parallel = {false},
                    .recompute = {{}},
                    .schedules = {ScheduleKind::k1F1B},
                    .partition = question.step.plan.partition};
  for (const char* framework : {"", "megatron-2021"}) {
    SimulationQuestion one = question;
    one.on.framework = planning.on.framework = framework;
    const PlanningAnswer answer = plan(planning, {.top = 1});
    ASSERT_EQ(answer.found.plans.size(), 1u);
    EXPECT_EQ(answer.found.plans[0].simulated, simulate(one).result.iteration_time) << framework;
  }
}

TEST(Assumptions, AttentionIsThatOfTheFirstWhoSaysIt) {
  const auto source = [](const SimulationQuestion& question) {
    return resolve(question).assumed.attention_from;
  };
  SimulationQuestion question = fasop();
  EXPECT_EQ(source(question), AttentionSource::kCluster);
  question.on.framework = "megatron-2022";
  EXPECT_EQ(source(question), AttentionSource::kFramework);
  question.step.fused_attention = true;
  EXPECT_EQ(source(question), AttentionSource::kAsked);
  EXPECT_EQ(source({.step = {.model = "gpt2"}, .on = {.cluster = "h100"}}), AttentionSource::kDefault);
  const SimulationQuestion old{.step = {.model = "gpt2"},
                               .on = {.cluster = "a100-80gb", .framework = "megatron-2021"}};
  EXPECT_EQ(resolve(old).assumed.fused_attention, false);
}

TEST(Assumptions, PricesAreThoseOfTheNodes) {
  // a10-8x4.json: 9.77 dollars an hour for each node.
  const std::vector<AssumedPrice> prices = resolve(fasop()).assumed.prices;
  ASSERT_EQ(prices.size(), 1u);
  EXPECT_EQ(prices[0].dollars_per_hour, 9.77);
  const SimulationAnswer answer = simulate(fasop());
  EXPECT_DOUBLE_EQ(*answer.figures.dollars_per_hour, 8 * *prices[0].dollars_per_hour) << "eight nodes";
}

TEST(Assumptions, RefusesWhatMakesNoSense) {
  const auto refusal = [](const SimulationQuestion& question) -> std::string {
    try {
      resolve(question);
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  };
  EXPECT_THAT(refusal({.step = {.model = "gpt2"}}), HasSubstr("no hardware"));
  EXPECT_THAT(refusal({.step = {.model = "gpt2"}, .on = {.cluster = "h100", .framework = "megatron-2020"}}),
              HasSubstr("unknown framework 'megatron-2020'"));
  EXPECT_THAT(refusal({.step = {.model = "gpt2", .kind = StepKind::kPrefill},
                       .on = {.cluster = "h100", .framework = "nadi"}}),
              HasSubstr("does not apply to a step of kind prefill"));
  EXPECT_THAT(refusal({.step = {.model = "gpt2", .kind = StepKind::kPrefill},
                       .on = {.cluster = "h100", .gradient_dtype = DType::kF32}}),
              HasSubstr("a type of gradients does not apply"));
  EXPECT_THAT(refusal({.step = {.model = "gpt2", .plan = {.dp = 2}}, .on = {.cluster = "h100"}}),
              HasSubstr("2 ranks need as many devices, and h100 has 1"));
}

TEST(PlanningQuestion, DefaultsAreTheLibrarys) {
  const PlanningQuestion question{.step = {.model = "gpt2", .global_batch_size = 8},
                                  .on = {.cluster = "a10"}};
  const ResolvedPlanning asked = resolve(question);
  EXPECT_EQ(asked.question.limits.memory_share, 0.95);
  EXPECT_EQ(asked.question.limits.memory_share, PlanLimits{}.memory_share);
  EXPECT_EQ(asked.question.request.dtype, DType::kF16);
  EXPECT_EQ(asked.question.overlap.gradient_dtype, DType::kF16);
  EXPECT_EQ(asked.question.framework, "nadi");
}

TEST(PlanningQuestion, RefusesWhatMakesNoSense) {
  const auto refusal = [](PlanningQuestion question) -> std::string {
    question.step = {.model = "gpt2", .global_batch_size = 8};
    if (question.fleet.empty()) question.on.cluster = "a10";
    try {
      resolve(question);
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  };
  EXPECT_THAT(refusal({.memory_share = 0}), HasSubstr("a memory share of 0"));
  EXPECT_THAT(refusal({.memory_share = 1.5}), HasSubstr("a memory share of 1.5"));
  EXPECT_THAT(refusal({.budget = "5"}), HasSubstr("the budget '5' is no price"));
  EXPECT_THAT(refusal({.deadline = "soon"}), HasSubstr("the deadline 'soon'"));
  EXPECT_THAT(refusal({.space = {.zero_stages = {2}}}), HasSubstr("no ZeRO stage 2"));
  EXPECT_THAT(refusal({.space = {.partition = {12}, .uneven_partitions = false}}), HasSubstr("contradict"));
  EXPECT_THAT(refusal({.on = {.cluster = "a10"}, .fleet = "f.json"}), HasSubstr("contradict"));
}

// Simulated times come before estimates, and money goes with time.
TEST(PlanningQuestion, PlansAreRankedByWhatIsKnownBest) {
  RankedPlan estimated, simulated;
  estimated.estimate.iteration = Nanoseconds{100};
  estimated.estimate.dollars_per_step = 1.0;
  simulated.estimate.iteration = Nanoseconds{90};
  simulated.estimate.dollars_per_step = 0.9;
  simulated.simulated = Nanoseconds{180};  // twice its estimate: 1.8 dollars
  for (const PlanObjective objective : {PlanObjective::kTime, PlanObjective::kCost}) {
    std::vector<RankedPlan> plans{simulated, estimated};
    rank_plans(objective, plans, 10);
    EXPECT_FALSE(plans[0].simulated) << "100 before 180";
    rank_plans(objective, plans, 1);
    EXPECT_EQ(plans.size(), 1u);
  }
}

}  // namespace
}  // namespace nadi::inline ask
