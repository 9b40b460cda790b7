#include "nadi/cli/train_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cli/train_options_for_tests.h"
#include "nadi/train/step_requests.h"

namespace nadi::inline show {
namespace {

// Groups of variables that lie together: gradients, parameters and state of each bucket.
std::size_t buckets_of(const std::string& flags) {
  const TrainOptions options = resolve_for_tests("gpt2-tiny --dp 2 " + flags, 2).options;
  return build_step(options.config, training_request(options, 1), options.plan).buckets.size();
}

TEST(TrainOptionsOf, GradientsAreSummedInBucketsOfTheSizeThatIsAskedFor) {
  EXPECT_EQ(resolve_for_tests("gpt2-tiny").options.bucket_elements, kBucketsAsTheyFit);
  EXPECT_EQ(resolve_for_tests("gpt2-tiny --ddp-bucket-size 5000").options.bucket_elements, 5000);
  EXPECT_GT(buckets_of("--ddp-bucket-size 1"), buckets_of("--ddp-bucket-size 100000"));
  EXPECT_GT(buckets_of("--ddp-bucket-size 100000"), buckets_of("--ddp-bucket-size 1000000000"));
}

// As the guides have it: a script that says how often to save, and not where.
TEST(TrainOptionsOf, CheckpointsHaveAFolderByTheTypeOfTheModel) {
  for (const auto& [model, folder] : {std::pair{"gpt2-medium", "checkpoints/gpt2"},
                                      {"bert-base-uncased", "checkpoints/bert"},
                                      {"llama-tiny", "checkpoints/llama"}}) {
    const ResolvedTrain run = resolve_for_tests(std::string(model) + " --save-steps 500");
    EXPECT_EQ(run.options.save_dir, folder);
    EXPECT_EQ(run.options.save_steps, 500);
    EXPECT_THAT(notes_of(run), testing::HasSubstr(std::string("checkpoints go to ") + folder));
  }
  EXPECT_EQ(resolve_for_tests("gpt2 --save-steps 5 --save-dir here").options.save_dir, "here");
  EXPECT_EQ(resolve_for_tests("gpt2").options.save_dir, "");
}

TEST(TrainOptionsOf, HowAStepIsComputed) {
  using Granularity = Recompute::Granularity;
  const TrainOptions plain = resolve_for_tests("gpt2").options;
  EXPECT_TRUE(plain.fused_attention);
  EXPECT_EQ(plain.recompute.granularity, Granularity::kNone);
  EXPECT_FALSE(resolve_for_tests("gpt2 --attention unfused").options.fused_attention);
  const Recompute recompute =
      resolve_for_tests("gpt2 --recompute full --recompute-method block --recompute-num-layers 3")
          .options.recompute;
  EXPECT_EQ(recompute.granularity, Granularity::kFull);
  EXPECT_EQ(recompute.method, Recompute::Method::kBlock);
  EXPECT_EQ(recompute.layers, 3);
  EXPECT_EQ(resolve_for_tests("gpt2 --recompute-granularity selective").options.recompute.granularity,
            Granularity::kSelective);
  EXPECT_FALSE(plain.math.deterministic);
  EXPECT_TRUE(resolve_for_tests("gpt2 --deterministic").options.math.deterministic);
}

TEST(TrainOptionsOf, Experts) {
  EXPECT_EQ(resolve_for_tests("mixtral-tiny").options.experts, ExpertOptions{});
  EXPECT_EQ(
      resolve_for_tests("mixtral-tiny --moe-router-load-balancing-type aux_loss --moe-aux-loss-coeff 0.5 "
                        "--moe-z-loss-coeff 0.25 --moe-expert-capacity-factor 1.5 "
                        "--moe-pad-expert-input-to-capacity --moe-token-drop-policy position "
                        "--moe-expert-rank-capacity-factor 3 --expert-load zipf:1.5")
          .options.experts,
      (ExpertOptions{.balance = BalanceLossKind::kPerLayer,
                     .balance_coefficient = 0.5,
                     .z_coefficient = 0.25,
                     .capacity_factor = 1.5,
                     .padded = true,
                     .drop_policy = DropPolicy::kPosition,
                     .rank_capacity_factor = 3,
                     .load = {.zipf = 1.5}}));
  for (const char* wrong : {"zipf:0", "zipf:x", "zipf:1.1x"})
    EXPECT_THAT(refusal_for_tests(std::string("mixtral-tiny --expert-load ") + wrong),
                testing::StartsWith("--expert-load takes an exponent between 0 and 10"));
  // Megatron-LM takes the loss of each layer.
  EXPECT_EQ(resolve_for_tests("mixtral-tiny --lr 0.001").options.experts.balance, BalanceLossKind::kPerLayer);
  EXPECT_EQ(refusal_for_tests("mixtral-tiny --moe-pad-expert-input-to-capacity"),
            "--moe-pad-expert-input-to-capacity needs --moe-expert-capacity-factor");
  EXPECT_EQ(refusal_for_tests("mixtral-tiny --moe-token-drop-policy probs"),
            "--moe-token-drop-policy needs --moe-expert-capacity-factor");
}

TEST(TrainOptionsOf, WaysToComputeMayContradict) {
  EXPECT_EQ(refusal_for_tests("gpt2 --recompute selective --recompute-num-layers 2"),
            "--recompute-num-layers does not apply to --recompute selective | it goes with --recompute full");
  EXPECT_EQ(refusal_for_tests("gpt2 --recompute full --recompute-activations"),
            "--recompute-activations and --recompute full contradict each other");
  EXPECT_EQ(refusal_for_tests("gpt2 --recompute-granularity selective --recompute-activations"), "no error");
  EXPECT_EQ(refusal_for_tests("gpt2 --attention unfused --use-flash-attn"),
            "unfused attention and --use-flash-attn contradict each other");
  EXPECT_EQ(refusal_for_tests("gpt2 --attention unfused --attention-backend flash"),
            "--attention and --attention-backend contradict each other");
  EXPECT_EQ(refusal_for_tests("gpt2 --attention unfused --attention-backend auto"), "no error");
}

TEST(TrainOptionsOf, Tf32IsForGpus) {
  EXPECT_EQ(refusal_for_tests("gpt2 --tf32"),
            "--tf32 does not apply to --device cpu | it goes with --device cuda");
  EXPECT_EQ(refusal_for_tests("gpt2 --tf32 --device reference"),
            "--tf32 does not apply to --device reference | it goes with --device cuda");
}

TEST(TrainOptionsOf, DropoutIsOneRateOrTwo) {
  const ModelConfig all = resolve_for_tests("gpt2 --dropout 0.3").options.config;
  EXPECT_EQ(all.attention_dropout, 0.3);
  EXPECT_EQ(all.residual_dropout, 0.3);
  EXPECT_EQ(resolve_for_tests("llama-tiny --dropout 0.3").options.config.residual_dropout, 0);
  EXPECT_EQ(refusal_for_tests("gpt2 --dropout 0.3 --hidden-dropout 0.1"),
            "--dropout and --hidden-dropout contradict each other");
}

TEST(TrainOptionsOf, DataOfMegatronIsReadOnce) {
  const ResolvedTrain run = resolve_for_tests("gpt2 --data-path a --max-steps 5 --batch-size 2");
  EXPECT_EQ(run.options.epochs, 1);
  EXPECT_EQ(run.options.max_steps, 5);
  EXPECT_EQ(run.log_format, LogFormat::kNadi) << "--data-path is Nadi's own, too";
  EXPECT_EQ(run.eval_iterations, 10);
  EXPECT_EQ(resolve_for_tests("gpt2 --data-path a --max-steps 5 --eval-iters 3").eval_iterations, 3);
  EXPECT_EQ(notes_of(resolve_for_tests("gpt2 --eval-iters 3")),
            "--eval-iters has no effect without --data-path: all of the validation data is used\n");
  EXPECT_EQ(refusal_for_tests("gpt2 --data-path a --data b.json --max-steps 1"),
            "--data and --data-path contradict each other");
}

}  // namespace
}  // namespace nadi::inline show
