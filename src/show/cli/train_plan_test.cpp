#include "nadi/cli/train_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cli/train_options_for_tests.h"

namespace nadi::inline show {
namespace {

Plan plan_of(std::string_view words, std::int64_t ranks) {
  return resolve_for_tests(words, ranks).options.plan;
}

TEST(TrainPlan, CopiesOfTheModelTakeAllRanks) {
  EXPECT_EQ(plan_of("gpt2", 1).dp, 1);
  EXPECT_EQ(plan_of("gpt2", 8).dp, 8);
  const Plan plan = plan_of("gpt2 --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2", 8);
  EXPECT_EQ(plan.tp, 2);
  EXPECT_EQ(plan.pp, 2);
  EXPECT_EQ(plan.dp, 2);
  EXPECT_EQ(plan.world_size(), 8);
  EXPECT_EQ(plan_of("gpt2 --cp 2 --dp 2 --zero 1", 4).zero_stage, 1);
  EXPECT_EQ(plan_of("gpt2 --pp 2 --balance 5-7", 2).partition, (std::vector<std::int64_t>{5, 7}));
}

TEST(TrainPlan, RanksThatDoNotFitAreNamed) {
  const std::string hint = " | start the number of ranks that the plan needs: --num-ranks N, or mpirun -n N";
  EXPECT_EQ(refusal_for_tests("gpt2 --tp 2 --pp 2", 6),
            "6 ranks do not divide into copies of the model on tp 2 x cp 1 x pp 2 = 4 ranks" + hint);
  EXPECT_EQ(refusal_for_tests("gpt2 --tp 2", 1),
            "1 rank does not divide into copies of the model on tp 2 x cp 1 x pp 1 = 2 ranks" + hint);
  EXPECT_EQ(refusal_for_tests("gpt2 --tp 2 --dp 2", 8),
            "the plan needs tp 2 x cp 1 x pp 1 x dp 2 = 4 ranks; 8 are running" + hint);
  EXPECT_EQ(refusal_for_tests("gpt2 --num-ranks 4", 2),
            "--num-ranks is 4; 2 ranks are running | leave it out where mpirun or srun starts the ranks");
  EXPECT_EQ(refusal_for_tests("gpt2 --num-ranks 4", 4), "no error");
}

TEST(TrainPlan, NumGpusIsAnotherNameOfNumRanks) {
  EXPECT_EQ(ranks_to_start(train_flags_for_tests("gpt2 --num-gpus 4")), 4);
  EXPECT_EQ(ranks_to_start(train_flags_for_tests("gpt2 --num-ranks 4")), 4);
}

TEST(TrainPlan, SequenceParallelismOfOneRankIsNone) {
  const ResolvedTrain run = resolve_for_tests("gpt2 --sequence-parallel");
  EXPECT_FALSE(run.options.plan.sequence_parallel);
  EXPECT_EQ(notes_of(run), "--sequence-parallel has no effect with one tensor-parallel rank\n");
  EXPECT_TRUE(plan_of("gpt2 --sequence-parallel --tp 2", 2).sequence_parallel);
}

// GPT-2 has 12 layers: 6 per stage, 3 chunks of 2.
TEST(TrainPlan, ChunksOfLayersMakeVirtualStages) {
  const std::string words = "gpt2 --pp 2 --num-layers-per-virtual-pipeline-stage ";
  EXPECT_EQ(plan_of(words + "2", 2).virtual_stages, 3);
  EXPECT_EQ(plan_of(words + "2", 2).schedule, ScheduleKind::kInterleaved);
  EXPECT_EQ(plan_of(words + "6", 2).virtual_stages, 1);
  EXPECT_EQ(plan_of(words + "6", 2).schedule, ScheduleKind::k1F1B);
  EXPECT_EQ(refusal_for_tests(words + "4", 2),
            "12 layers on 2 stages do not divide into chunks of 4 | --num-layers-per-virtual-pipeline-stage "
            "divides "
            "--num-layers / --pp");
  EXPECT_EQ(refusal_for_tests(words + "2 --virtual-stages 3", 2),
            "--virtual-stages and --num-layers-per-virtual-pipeline-stage contradict each other");
}

TEST(TrainPlan, BatchesInEitherSpelling) {
  const auto sizes = [](std::string_view words, std::int64_t ranks) {
    const TrainOptions options = resolve_for_tests(words, ranks).options;
    return std::vector<std::int64_t>{options.batch_size, options.accumulation, global_batch_of(options)};
  };
  using Sizes = std::vector<std::int64_t>;
  EXPECT_EQ(sizes("gpt2", 2), (Sizes{4, 1, 8}));
  EXPECT_EQ(sizes("gpt2 --batch-size 3 --gradient-accumulation-steps 2", 2), (Sizes{3, 2, 12}));
  EXPECT_EQ(sizes("gpt2 --micro-batch-size 2 --global-batch-size 16", 2), (Sizes{2, 4, 16}));
  EXPECT_EQ(sizes("gpt2 --micro-batch-size 2 --global-batch-size 16 --tp 2", 2), (Sizes{2, 8, 16}));
  EXPECT_EQ(sizes("gpt2 --global-batch-size 16", 2), (Sizes{8, 1, 16}));
  EXPECT_EQ(refusal_for_tests("gpt2 --micro-batch-size 2 --global-batch-size 18", 2),
            "a global batch of 18 does not divide into micro-batches of 2 on 2 data-parallel ranks | "
            "--global-batch-size is a multiple of 2 x 2");
  EXPECT_EQ(refusal_for_tests("gpt2 --global-batch-size 3", 2),
            "a global batch of 3 does not divide over 2 data-parallel ranks");
  EXPECT_THAT(
      refusal_for_tests("gpt2 --global-batch-size 8 --gradient-accumulation-steps 2"),
      testing::StartsWith("--global-batch-size and --gradient-accumulation-steps contradict each other"));
}

TEST(TrainPlan, SomeRanksMayBeSlow) {
  const auto factor = [](std::string_view words, int rank) {
    return resolve_train(train_flags_for_tests(words), 4, Rank{rank}).options.slowdown;
  };
  EXPECT_EQ(factor("gpt2", 1), 1);
  EXPECT_EQ(factor("gpt2 --slow rank=1:2x", 0), 1);
  EXPECT_EQ(factor("gpt2 --slow rank=1:2x", 1), 2);
  EXPECT_EQ(factor("gpt2 --slow 1:2,3:1.5", 3), 1.5);
  EXPECT_NE(refusal_for_tests("gpt2 --slow rank=4:2x", 4), "no error");
  EXPECT_NE(refusal_for_tests("gpt2 --slow rank=1:0.5x", 4), "no error");
}

TEST(TrainSchedule, LengthsThatContradictAreNamed) {
  EXPECT_EQ(refusal_for_tests("gpt2 --train-iters 3 --train-samples 12"),
            "--train-iters and --train-samples contradict each other");
  EXPECT_EQ(refusal_for_tests("gpt2 --train-samples 3"),
            "--train-samples 3 are not even one global batch of 4");
  EXPECT_EQ(refusal_for_tests("gpt2 --train-iters 0"),
            "--train-iters takes a whole number of at least 1, not '0'");
  EXPECT_EQ(refusal_for_tests("gpt2 --lr-warmup-fraction 0.1"),
            "--lr-warmup-fraction of what: the number of steps is not known | give --train-iters or "
            "--lr-decay-iters");
  EXPECT_EQ(refusal_for_tests("gpt2 --lr-warmup-fraction 0.1 --lr-warmup-iters 3 --train-iters 9"),
            "--lr-warmup-fraction and a number of steps for the warm-up contradict each other");
  EXPECT_EQ(refusal_for_tests("gpt2 --lr 1e-4 --min-lr 1e-3"),
            "--min-lr 0.001 is above the learning rate's peak of 0.0001");
}

TEST(TrainPlan, StagesWithoutALayerAreCounted) {
  // 4 layers on 6 stages
  const ResolvedTrain run = resolve_for_tests("gpt2-tiny --pp 6", 6);
  EXPECT_THAT(run.notes, testing::Contains("gpt2-tiny has 4 layers: 2 of the 6 stages have none"));
}

}  // namespace
}  // namespace nadi::inline show
