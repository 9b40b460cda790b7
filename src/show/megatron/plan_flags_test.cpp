#include "nadi/megatron/plan_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/model/catalogue.h"

namespace nadi::inline show {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

MegatronPlanFlags flags_of(std::string_view model, std::string_view step, std::string_view plan) {
  const PlanFile file = parse_plan_file(
      format(R"({{"nadi_plan": 1, "model": "{}", "step": {{"seq_length": 512, "global_batch_size": 64,
                 "micro_batch_size": 2, {}}}, "plan": {{{}}}}})",
             model, step, plan),
      "plan.json");
  return megatron_plan_flags(*find_built_in_model(model), file);
}

std::string contradiction(const MegatronPlanFlags& planned, std::vector<std::string> words) {
  words.insert(words.begin(), "pretrain_gpt.py");
  try {
    with_plan_flags(words, planned.flags, "plan.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.message();
  }
  return "none";
}

TEST(PlanFlags, AreThoseOfTheCommandInItsOrder) {
  const MegatronPlanFlags planned = flags_of("gpt2-xl", R"("dtype": "fp16")",
                                             R"("dp": 4, "pp": 4, "zero": 1, "partition": [8, 14, 14, 12])");
  const std::vector<std::string> words =
      with_plan_flags({"pretrain_gpt.py", "--lr", "1e-4"}, planned.flags, "plan.json");
  EXPECT_EQ(
      format("{}", fmt::join(words, " ")),
      "pretrain_gpt.py --lr 1e-4 --num-layers 48 --hidden-size 1600 --num-attention-heads 25 "
      "--ffn-hidden-size 6400 --max-position-embeddings 1024 --tensor-model-parallel-size 1 "
      "--pipeline-model-parallel-size 4 --use-distributed-optimizer --decoder-first-pipeline-num-layers 8 "
      "--decoder-last-pipeline-num-layers 12 --seq-length 512 --micro-batch-size 2 --global-batch-size 64 "
      "--fp16");
}

TEST(PlanFlags, ALayoutIsOneWordWithoutQuotes) {
  const MegatronPlanFlags planned =
      flags_of("gpt2-xl", R"("dtype": "bf16")", R"("dp": 1, "pp": 4, "partition": [8, 16, 14, 10])");
  const std::vector<std::string> words = with_plan_flags({"x.py"}, planned.flags, "plan.json");
  const auto layout = std::ranges::find(words, "--pipeline-model-parallel-layout");
  ASSERT_NE(layout, words.end());
  EXPECT_EQ(*(layout + 1), "Et*8|t*16|t*14|t*10L");
  EXPECT_THAT(planned.notes, ElementsAre(HasSubstr("is experimental in Megatron-LM")));
}

TEST(PlanFlags, WhatTheUserWroteInTheSameSenseStays) {
  const MegatronPlanFlags planned = flags_of("gpt2-xl", R"("dtype": "bf16")", R"("dp": 4, "pp": 4)");
  const std::vector<std::string> words{"pretrain_gpt.py",
                                       "--bf16",
                                       "--pipeline-model-parallel-size=4",
                                       "--hidden-size",
                                       "1600",
                                       "--attention-dropout",
                                       "0.10",
                                       "--norm-epsilon",
                                       "1e-05",
                                       "--context-parallel-size",
                                       "1",
                                       "--attention-backend",
                                       "flash",
                                       "--data-path",
                                       "0.5",
                                       "a",
                                       "0.5",
                                       "b"};
  const std::vector<std::string> all = with_plan_flags(words, planned.flags, "plan.json");
  EXPECT_TRUE(std::equal(words.begin(), words.end(), all.begin()));
  EXPECT_EQ(std::ranges::count(all, "--bf16"), 1);
  EXPECT_EQ(std::ranges::count(all, "--pipeline-model-parallel-size"), 0);
  EXPECT_EQ(std::ranges::count(all, "--tensor-model-parallel-size"), 1);
}

TEST(PlanFlags, ContradictionsNameBoth) {
  const MegatronPlanFlags planned = flags_of("gpt2-xl", R"("dtype": "bf16")", R"("dp": 4, "pp": 4)");
  EXPECT_EQ(contradiction(planned, {"--pipeline-model-parallel-size", "8"}),
            "--pipeline-model-parallel-size 8 of the job contradicts plan.json, which has "
            "--pipeline-model-parallel-size 4");
  EXPECT_EQ(contradiction(planned, {"--seq-length=1024"}),
            "--seq-length 1024 of the job contradicts plan.json, which has --seq-length 512");
  EXPECT_EQ(contradiction(planned, {"--fp16"}), "--fp16 of the job contradicts plan.json, which has bf16");
  EXPECT_EQ(contradiction(planned, {"--sequence-parallel"}),
            "--sequence-parallel of the job contradicts plan.json, which goes without it");
  EXPECT_EQ(
      contradiction(planned, {"--context-parallel-size", "2"}),
      "--context-parallel-size 2 of the job contradicts plan.json, which has --context-parallel-size 1");
  EXPECT_THAT(contradiction(planned, {"--num-layers-per-virtual-pipeline-stage", "2"}),
              HasSubstr("which has the layers Et*12|(t*12|)*2t*12L"));
  EXPECT_THAT(contradiction(planned, {"--attention-backend", "unfused"}),
              HasSubstr("auto or flash or fused"));
  // The last of two counts for Megatron-LM, so each has to fit.
  EXPECT_THAT(contradiction(planned, {"--bf16", "--hidden-size", "1600", "--hidden-size", "800"}),
              HasSubstr("--hidden-size 800 of the job"));
  // A value that is known only when the job runs.
  EXPECT_THAT(contradiction(planned, {"--micro-batch-size", "${B}"}), HasSubstr("--micro-batch-size ${B}"));
  EXPECT_EQ(contradiction(planned, {"--lr", "3", "--train-iters", "9"}), "none");
}

}  // namespace
}  // namespace nadi::inline show
