#include "nadi/megatron/megatron_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cluster/cluster_file.h"
#include "nadi/model/catalogue.h"

namespace nadi::inline show {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

PlanFile plan_of(const std::string& model, Plan plan) {
  PlanFile file{.model = model,
                .seq_length = 1024,
                .global_batch_size = plan.dp * plan.micro_batches,
                .micro_batch_size = 1,
                .dtype = DType::kF16};
  file.plan = std::move(plan);
  return file;
}

MegatronCommand command_of(const PlanFile& file, const std::string& cluster = "a10-8x4") {
  return megatron_command(*find_built_in_model(file.model), file, load_cluster(cluster));
}

// FASOP's best plan of GPT-2 XL on 8 nodes of 4 A10: 0-11-8-8-8-8-5-0 with ours, and 50 layers with theirs.
TEST(MegatronCommandTest, AnyPartitionIsALayoutAndAListWithEmbeddingAndHead) {
  const MegatronCommand megatron = command_of(
      plan_of("gpt2-xl", {.dp = 4, .pp = 8, .micro_batches = 16, .partition = {0, 11, 8, 8, 8, 8, 5, 0}}));
  EXPECT_EQ(megatron.partition, "[1, 11, 8, 8, 8, 8, 5, 1]");
  EXPECT_EQ(megatron.layout, "E|t*11|(t*8|)*4t*5|L");
  EXPECT_THAT(megatron.command, HasSubstr("--pipeline-model-parallel-layout 'E|t*11|(t*8|)*4t*5|L'"));
  EXPECT_THAT(megatron.notes, testing::Contains(HasSubstr("experimental")));
  EXPECT_THAT(megatron.problems, IsEmpty());
}

TEST(MegatronCommandTest, TheWholeCommandOfAnEvenPlan) {
  const MegatronCommand megatron =
      command_of(plan_of("gpt2-xl", {.tp = 2, .dp = 4, .pp = 4, .micro_batches = 16}));
  EXPECT_EQ(megatron.command,
            "CUDA_DEVICE_MAX_CONNECTIONS=1 torchrun --nnodes 8 --node-rank $NODE_RANK --master-addr "
            "$MASTER_ADDR --master-port 6000 "
            "--nproc-per-node 4 pretrain_gpt.py \\\n"
            "  --num-layers 48 --hidden-size 1600 --num-attention-heads 25 --ffn-hidden-size 6400 "
            "--max-position-embeddings 1024 \\\n"
            "  --tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 \\\n"
            "  --seq-length 1024 --micro-batch-size 1 --global-batch-size 64 \\\n"
            "  --fp16 \\\n"
            "  --train-iters 20 --lr 1.5e-4 --eval-iters 0 --log-interval 1 --mock-data "
            "--tokenizer-type NullTokenizer --vocab-size 50256");
  EXPECT_EQ(megatron.partition, "[13, 12, 12, 13]");
}

TEST(MegatronCommandTest, StagesAtTheEndsMayDifferWithoutALayout) {
  const auto text = [](std::vector<std::int64_t> partition) {
    const auto stages = static_cast<std::int64_t>(partition.size());
    return command_of(
               plan_of("gpt2-xl", {.pp = stages, .micro_batches = 4, .partition = std::move(partition)}))
        .command;
  };
  EXPECT_THAT(text({8, 14, 14, 12}), HasSubstr("--decoder-first-pipeline-num-layers 8 "
                                               "--decoder-last-pipeline-num-layers 12"));
  // The last of two has the rest.
  EXPECT_THAT(text({20, 28}), AllOf(HasSubstr("--decoder-first-pipeline-num-layers 20 "),
                                    Not(HasSubstr("--decoder-last-pipeline-num-layers"))));
  // Empty ends and others in between need a layout.
  EXPECT_THAT(text({0, 24, 24}), HasSubstr("--pipeline-model-parallel-layout 'E|t*24|t*24L'"));
  EXPECT_THAT(text({12, 13, 11, 12}), HasSubstr("'Et*12|t*13|t*11|t*12L'"));
  EXPECT_THAT(text({24, 0, 0, 24}), HasSubstr("'Et*24|(|)*2t*24L'"));
  EXPECT_THAT(text({47, 1}), HasSubstr("--decoder-first-pipeline-num-layers 47 "));
}

// gpt2-xl has 48 layers: 6 in each of 4 x 2 virtual stages. All versions of Megatron-LM take that number.
TEST(MegatronCommandTest, InterleavedStagesAreCountedInLayersOrLaidOut) {
  Plan plan{.pp = 4, .schedule = ScheduleKind::kInterleaved, .virtual_stages = 2, .micro_batches = 8};
  EXPECT_THAT(command_of(plan_of("gpt2-xl", plan)).command,
              AllOf(HasSubstr("--num-layers-per-virtual-pipeline-stage 6"), Not(HasSubstr("layout"))));
  plan.partition = {5, 6, 6, 6, 6, 6, 6, 7};
  EXPECT_THAT(command_of(plan_of("gpt2-xl", plan)).command,
              AllOf(HasSubstr("layout 'Et*5|(t*6|)*6t*7L'"), Not(HasSubstr("virtual-pipeline-stage"))));
  plan.micro_batches = 6;
  EXPECT_THAT(command_of(plan_of("gpt2-xl", plan)).problems,
              testing::Contains(HasSubstr("6 micro-batches are no multiple of 4 stages")));
}

TEST(MegatronCommandTest, WhatMegatronLacksIsSaid) {
  PlanFile file = plan_of("gpt2-xl", {.pp = 4, .schedule = ScheduleKind::kGPipe, .micro_batches = 4});
  file.optimizer = OptimizerKind::kSgdSai;
  EXPECT_THAT(command_of(file).problems,
              ElementsAre(HasSubstr("no GPipe schedule"), HasSubstr("no optimizer sgd-sai")));
  EXPECT_THAT(command_of(plan_of("gpt2", {}), "cpu-epyc-7763").problems, ElementsAre(HasSubstr("CPUs")));
  // Two nodes whose devices take turns: torchrun has no such numbering.
  file = plan_of("gpt2-xl", {.dp = 4});
  file.devices = {DeviceId{0}, DeviceId{4}, DeviceId{1}, DeviceId{5}};
  EXPECT_THAT(command_of(file).problems, ElementsAre(HasSubstr("do not follow one another")));
  file.devices = {DeviceId{0}, DeviceId{4}, DeviceId{5}, DeviceId{6}};
  EXPECT_THAT(command_of(file).command, HasSubstr("--nnodes 2 --node-rank $NODE_RANK"));
  EXPECT_THAT(command_of(file).command, HasSubstr("--nproc-per-node $RANKS_OF_NODE"));
}

TEST(MegatronCommandTest, TypesRecomputationAndZeroHaveTheirFlags) {
  PlanFile file = plan_of("llama3.1-8b", {.tp = 4, .dp = 2, .sequence_parallel = true, .zero_stage = 1});
  file.dtype = DType::kBF16;
  file.fused_attention = false;
  file.recompute = {
      .granularity = Recompute::Granularity::kFull, .method = Recompute::Method::kBlock, .layers = 3};
  const std::string command = command_of(file, "dgx-h100").command;
  EXPECT_THAT(command,
              AllOf(testing::StartsWith(
                        "CUDA_DEVICE_MAX_CONNECTIONS=1 torchrun --nproc-per-node 8 pretrain_gpt.py \\\n"),
                    HasSubstr("--sequence-parallel --use-distributed-optimizer"),
                    HasSubstr("--bf16 --attention-backend unfused --recompute-granularity full "
                              "--recompute-method block --recompute-num-layers 3"),
                    HasSubstr("--group-query-attention --num-query-groups 8"),
                    HasSubstr("--position-embedding-type rope --rotary-base 500000 "
                              "--normalization RMSNorm --use-rope-scaling "
                              "--swiglu --disable-bias-linear --untie-embeddings-and-output-weights")));
}

// What the planner took for granted is on the command line, and nothing where it said nothing.
TEST(MegatronCommandTest, ReductionsRunAsThePredictionHasThem) {
  PlanFile file = plan_of("gpt2-xl", {.dp = 4});
  EXPECT_THAT(command_of(file).command, Not(HasSubstr("--overlap-grad-reduce")));
  file.predicted = {.framework = "nadi", .gradient_dtype = DType::kF16};
  EXPECT_THAT(command_of(file).command,
              AllOf(HasSubstr("--overlap-grad-reduce"), Not(HasSubstr("grads-in-fp32"))));
  file.predicted = {.framework = "megatron-2022", .gradient_dtype = DType::kF32};
  EXPECT_THAT(command_of(file).command, AllOf(Not(HasSubstr("--overlap-grad-reduce")),
                                              HasSubstr("--accumulate-allreduce-grads-in-fp32")));
  file.predicted.framework = "megatron";
  file.plan.zero_stage = 1;
  EXPECT_THAT(command_of(file).command, HasSubstr("--overlap-grad-reduce --overlap-param-gather"));
  file.plan.zero_stage = 0;
  EXPECT_THAT(command_of(file).command, Not(HasSubstr("--overlap-param-gather")))
      << "there is nothing to gather";
  file.dtype = DType::kBF16;
  EXPECT_THAT(command_of(file).command, Not(HasSubstr("grads-in-fp32"))) << "its own default";
  file.predicted.gradient_dtype = DType::kBF16;
  EXPECT_THAT(command_of(file).command, HasSubstr("--grad-reduce-in-bf16"));
  file.plan.dp = 1;
  EXPECT_THAT(command_of(file).command, Not(HasSubstr("--grad-reduce-in-bf16"))) << "nothing is reduced";
}

// tests/megatron_flags_read_test.py has Megatron-LM itself say so.
TEST(MegatronCommandTest, FlagsThatOlderVersionsLackAreNamed) {
  PlanFile file = plan_of("llama3.1-8b", {.pp = 2, .micro_batches = 4, .partition = {15, 17}});
  file.fused_attention = false;
  EXPECT_THAT(
      command_of(file, "dgx-h100").notes,
      testing::IsSupersetOf({"--use-rope-scaling: versions up to Megatron Core 0.9 lack it",
                             "--decoder-first-pipeline-num-layers: versions up to Megatron Core 0.8 lack it",
                             "--attention-backend: versions up to Megatron Core 0.10 lack it"}));
  EXPECT_THAT(command_of(file, "dgx-h100").command,
              Not(HasSubstr("--rope-scaling-factor")));  // 8, its default
  ModelConfig config = *find_built_in_model("llama3.1-8b");
  config.rotary.factor = 32;
  const MegatronCommand other = megatron_command(config, file, load_cluster("dgx-h100"));
  EXPECT_THAT(other.command, HasSubstr("--use-rope-scaling --rope-scaling-factor 32 "));
  EXPECT_THAT(other.problems, IsEmpty());
  EXPECT_THAT(other.notes,
              testing::Contains("--rope-scaling-factor: versions up to Megatron Core 0.10 lack it"));
  config.rotary.original_positions = 4096;
  EXPECT_THAT(megatron_command(config, file, load_cluster("dgx-h100")).problems,
              ElementsAre(HasSubstr("the model from 4096, by 1 and 4")));
}

}  // namespace
}  // namespace nadi::inline show
