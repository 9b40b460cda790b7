#include "nadi/step/step_question.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/base/error.h"
#include "nadi/cluster/cluster_file.h"
#include "nadi/step/step_answer.h"

namespace nadi::inline ask {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// What resolve_step() has against a question.
std::string refusal(const StepQuestion& question) {
  try {
    resolve_step(question);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.message();
  }
  return "";
}

TEST(StepQuestion, MicroBatchesFollowFromTheBatchOfAllRanks) {
  const ResolvedStep step = resolve_step({.model = "gpt2",
                                          .plan = {.dp = 4, .micro_batches = 9},
                                          .global_batch_size = 64,
                                          .micro_batch_size = 2});
  EXPECT_EQ(step.request.batch_size, 16) << "64 / 4";
  EXPECT_EQ(step.plan.micro_batches, 8) << "16 / 2; those of the question's plan are of no account";
  EXPECT_EQ(resolve_step({.model = "gpt2", .plan = {.dp = 4}}).request.batch_size, 1);
  EXPECT_EQ(resolve_unsplit_step({.model = "gpt2", .global_batch_size = 64}).request.batch_size, 64);
}

TEST(StepQuestion, TokensFitTheModel) {
  EXPECT_EQ(resolve_step({.model = "gpt2"}).request.seq_length, 1024) << "its positions";
  EXPECT_EQ(resolve_step({.model = "llama3.1-8b"}).request.seq_length, 2048) << "of 131,072";
  const StepRequest made = resolve_step({.model = "gpt2", .kind = StepKind::kGenerate}).request;
  EXPECT_EQ(made.input_tokens, 128);
  EXPECT_EQ(made.output_tokens, 32);
  const StepRequest late =
      resolve_step({.model = "gpt2", .kind = StepKind::kGenerate, .input_tokens = 1020}).request;
  EXPECT_EQ(late.output_tokens, 4) << "1,024 positions";
}

TEST(StepQuestion, TheTypeIsThatOfTheHardware) {
  EXPECT_EQ(resolve_step({.model = "gpt2"}).request.dtype, DType::kF16);
  EXPECT_EQ(resolve({.step = {.model = "gpt2"}, .device = "cuda"}).request.dtype, DType::kF16);
  EXPECT_EQ(resolve({.step = {.model = "gpt2"}, .device = "cpu"}).request.dtype, DType::kF32);
  EXPECT_EQ(resolve({.step = {.model = "gpt2", .dtype = DType::kBF16}, .device = "cpu"}).request.dtype,
            DType::kBF16);
  EXPECT_EQ(default_dtype(load_cluster("dgx-h100"), 8), DType::kF16);
  EXPECT_EQ(default_dtype(load_cluster("cpu-epyc-7763"), 1), DType::kF32);
}

TEST(StepQuestion, StagesWithoutALayerAreNoted) {
  EXPECT_THAT(resolve_step({.model = "gpt2", .plan = {.pp = 13}}).notes,
              ElementsAre("gpt2 has 12 layers: 1 of the 13 stages has none"));
  EXPECT_TRUE(resolve_step({.model = "gpt2", .plan = {.pp = 12}}).notes.empty());
}

TEST(StepQuestion, RefusesWhatMakesNoSense) {
  EXPECT_THAT(refusal({.model = "gpt2", .batch_size = 2, .global_batch_size = 2}), HasSubstr("contradict"));
  EXPECT_THAT(refusal({.model = "gpt2", .plan = {.dp = 3}, .global_batch_size = 8}),
              HasSubstr("a global batch of 8 does not divide over 3"));
  EXPECT_THAT(refusal({.model = "gpt2", .micro_batch_size = 4}), HasSubstr("micro-batches of 4"));
  EXPECT_THAT(refusal({.model = "gpt2", .input_tokens = 4}),
              HasSubstr("the number of input tokens does not apply to a step of kind train"));
  EXPECT_THAT(refusal({.model = "gpt2", .kind = StepKind::kDecode, .seq_length = 4}),
              HasSubstr("the length of sequences"));
  EXPECT_THAT(refusal({.model = "gpt2", .plan = {.tp = 65536, .dp = 65536}}), HasSubstr("the limit is"));
  EXPECT_THAT(refusal({.model = "gtp2"}), HasSubstr("unknown model 'gtp2'"));
  EXPECT_THROW(resolve_unsplit_step({.model = "gpt2"}), Error);
  EXPECT_THROW(describe_step({.step = {.model = "gpt2"}, .rank = 1}), Error);
  EXPECT_THROW(describe_step({.step = {.model = "gpt2"}, .device = "tpu"}), Error);
  EXPECT_THROW(describe_step({.step = {.model = "gpt2"}, .deterministic = true}), Error);
}

}  // namespace
}  // namespace nadi::inline ask
