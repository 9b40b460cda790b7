#include "nadi/parallel/step_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/model/catalogue.h"

namespace nadi::inline describe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> schedule_of(const Program& program) {
  std::vector<std::string> names;
  for (const Instruction& instruction : program.instructions)
    names.push_back(program.section(instruction.section).name + " " +
                    std::to_string(instruction.micro_batch));
  return names;
}

TEST(StepProgram, TrainingRunsForwardBackwardOptimizer) {
  const Program program = build_step(*find_built_in_model("gpt2"), {.batch_size = 2, .seq_length = 16});
  EXPECT_THAT(schedule_of(program), ElementsAre("forward 0", "backward 0", "optimizer 0"));
  // Forward and backward cut one graph without gaps; the optimizer has its own.
  EXPECT_EQ(program.graphs.size(), 2u);
  const Section& forward = program.section(program.instructions[0].section);
  const Section& backward = program.section(program.instructions[1].section);
  EXPECT_EQ(forward.first_op, 0u);
  EXPECT_EQ(forward.end_op, backward.first_op);
  EXPECT_EQ(backward.end_op, program.graphs[0].ops().size());
}

TEST(StepProgram, MicroBatchesShareTheirSections) {
  const Program program =
      build_step(*find_built_in_model("gpt2"), {.batch_size = 4, .seq_length = 16}, {.micro_batches = 2});
  EXPECT_THAT(schedule_of(program), ElementsAre("zero_gradients 0", "forward 0", "backward 0", "forward 1",
                                                "backward 1", "optimizer 0"));
  for (const Op& op : program.graphs[0].ops())
    for (const OpOutput& output : op.outputs)
      EXPECT_TRUE(output.accumulate || program.graphs[0].tensor(output.tensor).role != Role::kGradient)
          << op.name;
}

// The prefill makes the first token, so that N tokens take N - 1 decode steps.
TEST(StepProgram, GenerateIsPrefillAndOneDecodePerTokenAfterTheFirst) {
  const Program program = build_step(*find_built_in_model("gpt3-125m"),
                                     {.kind = StepKind::kGenerate, .input_tokens = 10, .output_tokens = 3});
  EXPECT_THAT(schedule_of(program), ElementsAre("prefill 0", "decode 0", "decode 1"));
  EXPECT_EQ(program.instructions[1].context.position, 10);
  EXPECT_EQ(program.instructions[2].context.position, 11);
  EXPECT_EQ(program.parameter_count(), 125'226'240);  // prefill and decode share their weights
}

TEST(StepProgram, SamplesFromTheLogitsOfAllTensorParallelRanks) {
  const Program program =
      build_step(*find_built_in_model("gpt2"), {.kind = StepKind::kDecode, .sampling = true}, {.tp = 2}, 0);
  const Graph& graph = program.graphs[0];
  // Behind it, the position moves on.
  const Op& sample = graph.ops()[graph.ops().size() - 2];
  ASSERT_EQ(sample.kind, OpKind::kSample);
  EXPECT_EQ(graph.op(graph.tensor(sample.inputs[0]).producer).kind, OpKind::kAllGather);
  EXPECT_EQ(sample.attributes.integer("vocabulary"), 50257);  // of 50258 columns
}

TEST(StepProgram, Fp16HasADynamicLossScale) {
  const Program program = build_step(*find_built_in_model("gpt2"), {.seq_length = 16, .dtype = DType::kF16});
  EXPECT_TRUE(program.graphs[0].find_tensor("loss_scale"));
  const Program plain = build_step(*find_built_in_model("gpt2"), {.seq_length = 16, .dtype = DType::kBF16});
  EXPECT_FALSE(plain.graphs[0].find_tensor("loss_scale"));
}

TEST(StepProgram, RefusesWhatDoesNotFitWithTheNumbers) {
  const auto message = [](const char* model, const StepRequest& request,
                          const Plan& plan = {}) -> std::string {
    try {
      build_step(*find_built_in_model(model), request, plan);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return error.message();
    }
    return "(no error)";
  };
  EXPECT_THAT(message("gpt2", {.seq_length = 1025}),
              HasSubstr("1025 tokens does not fit gpt2, which has 1024"));
  EXPECT_THAT(message("gpt2", {.kind = StepKind::kGenerate, .input_tokens = 1000, .output_tokens = 25}),
              HasSubstr("1025 tokens"));
  EXPECT_THAT(message("gpt2", {.batch_size = 0}), HasSubstr("batch size must be at least 1, not 0"));
  EXPECT_THAT(message("gpt2", {.batch_size = 5}, {.micro_batches = 2}),
              HasSubstr("a batch of 5 does not divide into 2 micro-batches"));
  EXPECT_THAT(message("gpt2", {.kind = StepKind::kEvaluate, .batch_size = 2}, {.micro_batches = 2}),
              HasSubstr("only training works in micro-batches, not a evaluate step"));
  EXPECT_THAT(message("bert-base-uncased", {.kind = StepKind::kGenerate}),
              HasSubstr("not a model that generates"));
  EXPECT_THAT(message("gpt2", {.fp8 = true}), HasSubstr("fp8 matrix products go with bf16"));
  EXPECT_THAT(message("gpt2", {.sampling = true}), HasSubstr("a train step has no sampling"));
  EXPECT_THAT(message("gpt2", {.recompute = {.granularity = Recompute::Granularity::kFull, .layers = 13}}),
              HasSubstr("cannot recompute 13 layers at a time: gpt2 has 12"));
}

TEST(StepProgram, RefusesPlansThatDoNotFitWithTheNumbers) {
  const auto message = [](const char* model, const Plan& plan, StepRequest request = {}) -> std::string {
    if (request.kind == StepKind::kTrain) {
      request.seq_length = 64;
      request.batch_size = plan.micro_batches;
    }
    try {
      build_step(*find_built_in_model(model), request, plan, 0);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return error.message();
    }
    return "(no error)";
  };
  EXPECT_THAT(message("gpt2", {.tp = 5}),
              HasSubstr("12 attention heads do not divide over 5 tensor-parallel ranks"));
  EXPECT_THAT(message("llama3.1-8b", {.tp = 16}), HasSubstr("8 key-value heads do not divide over 16"));
  EXPECT_THAT(message("gpt2", {.cp = 3}), HasSubstr("64 tokens do not divide into 6 pieces"));
  EXPECT_THAT(message("gpt2", {.dp = 0}), HasSubstr("data-parallel degree must be at least 1, not 0"));
  EXPECT_THAT(message("gpt2", {.pp = 2, .partition = {6, 5}}),
              HasSubstr("the partition has 11 layers, gpt2 has 12"));
  EXPECT_THAT(message("gpt2", {.pp = 2, .partition = {6, 3, 3}}), HasSubstr("3 parts does not fit 2 stages"));
  EXPECT_THAT(message("gpt2", {.pp = 2, .partition = {13, -1}}), HasSubstr("less than 0 layers"));
  EXPECT_THAT(message("gpt2", {.sequence_parallel = true}), HasSubstr("needs tensor parallelism"));
  EXPECT_THAT(message("gpt2", {.zero_stage = 2}), HasSubstr("ZeRO stage 2"));
  EXPECT_THAT(message("gpt2", {.pp = 2}, {.kind = StepKind::kGenerate}),
              HasSubstr("one pipeline stage, not 2"));
  EXPECT_THAT(
      message("gpt2",
              {.pp = 4, .schedule = ScheduleKind::kInterleaved, .virtual_stages = 2, .micro_batches = 6}),
      HasSubstr("6"));
  EXPECT_THAT(message("gpt2", {.tp = 1 << 20, .dp = 1 << 20}), HasSubstr("2^30 ranks"));
  StepRequest sgd_sai;
  sgd_sai.optimizer.kind = OptimizerKind::kSgdSai;
  EXPECT_THAT(message("gpt2", {.tp = 2}, sgd_sai),
              HasSubstr("sgd-sai needs whole parameters: 2 tensor-parallel ranks share them"));
  EXPECT_THAT(message("gpt2", {.dp = 2, .zero_stage = 1}, sgd_sai),
              HasSubstr("sgd-sai needs whole parameters: ZeRO splits them"));
  EXPECT_EQ(message("gpt2", {.cp = 2, .dp = 2, .pp = 2}, sgd_sai), "(no error)");
}

TEST(StepProgram, CutsLayersAsEvenlyAsCanBe) {
  EXPECT_THAT(resolved_partition(*find_built_in_model("gpt2"), {.pp = 5}), ElementsAre(3, 3, 2, 2, 2));
  EXPECT_THAT(resolved_partition(*find_built_in_model("gpt2"), {.pp = 2, .partition = {12, 0}}),
              ElementsAre(12, 0));
}

TEST(StepProgram, GradientsAreReducedWhileTheBackwardPassGoesOn) {
  StepRequest request{.batch_size = 2, .seq_length = 16};
  request.layout.bucket_elements = 30'000'000;
  const Program program = build_step(*find_built_in_model("gpt2"), request, {.dp = 2, .micro_batches = 2}, 0);
  // 124 M elements: the tied embedding of 39 M is ready last of all; what the blocks fill comes earlier. Only
  // the last micro-batch reduces.
  const std::vector<std::string> schedule = schedule_of(program);
  const auto first_reduction =
      std::ranges::find_if(schedule, [](const std::string& s) { return s.starts_with("reduce"); });
  ASSERT_NE(first_reduction, schedule.end());
  EXPECT_TRUE(first_reduction->ends_with(" 1"));
  EXPECT_NE(std::find(first_reduction, schedule.end(), "backward 1"), schedule.end());
}

// As Megatron-LM does with --overlap-param-gather: what a step has updated is gathered by the next one, first the
// parameters that its forward pass needs first.
TEST(StepProgram, ParametersAreGatheredBeforeTheirUse) {
  StepRequest request{.batch_size = 2, .seq_length = 16};
  request.layout = {.bucket_elements = 30'000'000, .gathers = GatherTime::kBeforeUse};
  const Plan plan{.dp = 2, .zero_stage = 1, .micro_batches = 2};
  const Program program = build_step(*find_built_in_model("gpt2"), request, plan, 0);
  const std::vector<std::string> schedule = schedule_of(program);
  const auto gathers = static_cast<std::size_t>(
      std::ranges::count_if(schedule, [](const std::string& s) { return s.starts_with("gather_"); }));
  // Vectors, the blocks' matrices in three buckets, the last of them with the embeddings.
  EXPECT_GE(gathers, 4u);
  std::vector<std::string> first;
  for (std::size_t i = 0; i < gathers; ++i) {
    EXPECT_TRUE(schedule[i].starts_with("gather_")) << schedule[i];
    const Section& section = program.section(program.instructions[i].section);
    const Graph& graph = program.graph_of(section);
    ASSERT_EQ(section.end_op, section.first_op + 1);
    const Op& op = graph.ops()[section.first_op];
    EXPECT_EQ(op.kind, OpKind::kBucketAllGather);
    for (const OpOutput& output : op.outputs) first.push_back(graph.tensor(output.tensor).name);
  }
  // The embeddings come before the last block, which the forward pass needs last.
  const auto place = [&](const char* name) { return std::ranges::find(first, name) - first.begin(); };
  EXPECT_LT(place("transformer.wte.weight"), place("transformer.h.11.mlp.c_fc.weight"));
  EXPECT_LT(place("transformer.h.11.mlp.c_fc.weight"), std::ssize(first));
  for (const Instruction& instruction : program.instructions) {
    const Section& section = program.section(instruction.section);
    if (section.name != "optimizer") continue;
    for (std::uint32_t i = section.first_op; i < section.end_op; ++i)
      EXPECT_NE(program.graph_of(section).ops()[i].kind, OpKind::kBucketAllGather);
  }
}

}  // namespace
}  // namespace nadi::inline describe
