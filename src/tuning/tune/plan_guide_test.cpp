#include "nadi/tune/plan_guide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/cluster/catalogue.h"
#include "nadi/model/catalogue.h"
#include "nadi/plan/plan_search.h"
#include "nadi/tune/preset.h"

namespace nadi::inline tuning {
namespace {

using testing::HasSubstr;

PlanQuestion question_for_guide(std::string_view model, std::string_view cluster, std::int64_t batch) {
  PlanQuestion question{.config = *find_built_in_model(model), .cluster = *find_cluster(cluster)};
  question.request.kind = StepKind::kTrain;
  question.request.seq_length = 512;
  question.request.dtype = DType::kBF16;
  question.global_batch_size = batch;
  return question;
}

TuneSpace guided_space(const PlanQuestion& question, std::int64_t gpus) {
  TuneSpace space = preset_space("megatron");
  space.add(parameter_of_text("context=1"));
  space.set_constant("gpus", gpus);
  space.set_constant("global_batch_size", question.global_batch_size);
  space.set_constant("num_layers", question.config.layers);
  space.set_constant("num_heads", question.config.heads);
  space.set_constant("num_kv_heads", question.config.kv_heads);
  space.set_constant("seq_length", question.request.seq_length);
  space.check();
  return space;
}

TEST(PlanGuide, TheFirstTrialIsThePlannersBestPlan) {
  PlanQuestion question = question_for_guide("gpt2", "dgx-a100", 32);
  const TuneSpace space = guided_space(question, 8);
  const SpacePoints points(space);
  const PlanGuide guide(question, points, {.gpus = 8, .simulated = 40});
  const std::vector<std::vector<double>> ranked = guide.ranked();
  ASSERT_GT(ranked.size(), 10u);
  // The search itself, over the same plans: all devices, layers spread evenly, schedules that Megatron has.
  question.space = {.tp = {1, 2, 4},
                    .pp = {1, 2, 4},
                    .micro_batch_sizes = {1, 2, 4, 8},
                    .virtual_stages = {1, 2, 4},
                    .recompute = {Recompute{}},
                    .schedules = {ScheduleKind::k1F1B, ScheduleKind::kInterleaved},
                    .uneven_partitions = false,
                    .unused_devices = false};
  const PlanAnswer answer = search_plans(question, {.top = 10});
  ASSERT_FALSE(answer.plans.empty());
  const RankedPlan& best = answer.plans[0];
  const auto expected =
      guide.point_of_plan(best.candidate.plan, best.candidate.micro_batch_size, best.candidate.recompute);
  EXPECT_EQ(points.text(ranked[0]), points.text(expected));
  EXPECT_GT(guide.looked_at(), std::ssize(ranked) - 1);
  // Estimates rise along the ranking, but for the first that were simulated.
  for (std::size_t i = 41; i < ranked.size(); ++i)
    EXPECT_LE(*guide.predicted_seconds(ranked[i - 1]), *guide.predicted_seconds(ranked[i]));
}

TEST(PlanGuide, WhatCannotRunIsRefusedWithAReason) {
  const PlanQuestion question = question_for_guide("llama3.1-70b", "dgx-h100x2", 128);
  const TuneSpace space = guided_space(question, 16);
  const SpacePoints points(space);
  const PlanGuide guide(question, points, {.gpus = 16});
  const auto whole = [](std::int64_t value) { return ParameterValue(value); };
  const auto refusal = [&](const TuneSetting& setting) {
    return guide.refusal(points.point_of(setting)).value_or("fits");
  };
  // 70 billion parameters with 16 bytes each are 1,120 GB: one GPU has 80.
  EXPECT_THAT(refusal({{"tensor", whole(1)}}), HasSubstr("of memory are missing"));
  EXPECT_EQ(refusal({{"tensor", whole(8)}, {"pipeline", whole(2)}, {"recompute", std::string("full")}}),
            "fits");
  EXPECT_TRUE(guide.predicted_seconds(
      points.point_of({{"tensor", whole(8)}, {"pipeline", whole(2)}, {"recompute", std::string("full")}})));
  EXPECT_THAT(refusal({{"tensor", whole(8)}, {"pipeline", whole(4)}}), HasSubstr("do not divide"));
}

TEST(PlanGuide, WhereNothingFitsItSaysSo) {
  const PlanQuestion question = question_for_guide("llama3.1-70b", "a10-8x4", 32);
  TuneSpace space = guided_space(question, 8);
  for (const char* few :
       {"virtual_stages=1", "micro_batch=1", "recompute_layers=1", "recompute_method=uniform"})
    space.add(parameter_of_text(few));
  const SpacePoints points(space);
  const PlanGuide guide(question, points, {.gpus = 8});
  EXPECT_THROW(guide.ranked(), Error);
  EXPECT_THROW(PlanGuide(question, points, {.gpus = 64}), Error) << "more GPUs than there are";
  TuneSpace other;
  other.add(parameter_of_text("n=1,2"));
  const SpacePoints unplanned(other);
  EXPECT_THROW(PlanGuide(question, unplanned, {}), Error) << "the space has no plan";
}

}  // namespace
}  // namespace nadi::inline tuning
