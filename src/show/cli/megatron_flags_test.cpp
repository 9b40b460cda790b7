// Every flag of Megatron's that is taken: what it changes, or that it is said to change nothing.
#include "nadi/megatron/megatron_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "nadi/cli/run_for_tests.h"
#include "nadi/cli/train_options_for_tests.h"

namespace nadi::inline show {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A model of Megatron's; what a test gives besides must not be in it.
constexpr std::string_view kGpt =
    "gpt --num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --vocab-size 1000 ";
constexpr std::string_view kLlama =
    "gpt --num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --vocab-size 1000 --swiglu "
    "--normalization RMSNorm --position-embedding-type rope --disable-bias-linear --hidden-dropout 0 ";

// What is different with the flag? Both runs have `together`.
struct Effect {
  std::string flag;  // with its value
  std::string together;
  std::function<bool(const ResolvedTrain& without, const ResolvedTrain& with)> acts;
  std::int64_t ranks = 1;
};

using Check = std::function<bool(const ResolvedTrain&, const ResolvedTrain&)>;
template <typename Value>
Check option(Value TrainOptions::*member, Value expected) {
  return [=](const ResolvedTrain& without, const ResolvedTrain& with) {
    return with.options.*member == expected && without.options.*member != expected;
  };
}
template <typename Value>
Check model(Value ModelConfig::*member, Value expected) {
  return [=](const ResolvedTrain& without, const ResolvedTrain& with) {
    return with.options.config.*member == expected && without.options.config.*member != expected;
  };
}
template <typename Value>
Check rate(Value LearningRate::*member, Value expected) {
  return [=](const ResolvedTrain& without, const ResolvedTrain& with) {
    return with.options.optimizer.learning_rate.*member == expected &&
           without.options.optimizer.learning_rate.*member != expected;
  };
}
Check optimizer(double OptimizerOptions::*member, double expected) {
  return [=](const ResolvedTrain& without, const ResolvedTrain& with) {
    return with.options.optimizer.*member == expected && without.options.optimizer.*member != expected;
  };
}
Check whole(std::function<bool(const ResolvedTrain&)> holds) {
  return
      [=](const ResolvedTrain& without, const ResolvedTrain& with) { return holds(with) && !holds(without); };
}

std::vector<Effect> model_effects() {
  const std::string gpt(kGpt), llama(kLlama);
  const std::string bare = "--seq-length 128 --vocab-size 1000 ";
  const std::string no_rope =
      "llama --num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --hidden-dropout 0 ";
  const std::string experts = llama + "--num-experts 8 ";
  const auto layers = [](std::int64_t count) {
    return
        [=](const ResolvedTrain&, const ResolvedTrain& with) { return with.options.config.layers == count; };
  };
  return {
      // Those three make the model: there is no run without.
      {"--num-layers 6", "gpt --hidden-size 64 --num-attention-heads 4 " + bare, layers(6)},
      {"--hidden-size 48", "gpt --num-layers 4 --num-attention-heads 4 " + bare,
       [](const ResolvedTrain&, const ResolvedTrain& with) { return with.options.config.width == 48; }},
      {"--num-attention-heads 2", "gpt --num-layers 4 --hidden-size 64 " + bare,
       [](const ResolvedTrain&, const ResolvedTrain& with) {
         return with.options.config.heads == 2 && with.options.config.head_width == 32;
       }},
      {"--ffn-hidden-size 100", gpt, model(&ModelConfig::ffn_width, std::int64_t{100})},
      {"--kv-channels 32", llama, model(&ModelConfig::head_width, std::int64_t{32})},
      {"--group-query-attention", llama, model(&ModelConfig::kv_heads, std::int64_t{1})},
      {"--num-query-groups 2", llama + "--group-query-attention",
       model(&ModelConfig::kv_heads, std::int64_t{2})},
      {"--max-position-embeddings 256", gpt, model(&ModelConfig::positions, std::int64_t{256})},
      {"--position-embedding-type learned_absolute", gpt,
       [](const ResolvedTrain&, const ResolvedTrain& with) {
         return with.options.config.architecture == architecture_named("gpt2");
       }},
      {"--use-rotary-position-embeddings", llama,
       [](const ResolvedTrain&, const ResolvedTrain& with) {
         return with.options.config.architecture == architecture_named("llama");
       }},
      {"--no-position-embedding", llama,
       [](const ResolvedTrain&, const ResolvedTrain& with) {
         return with.options.config.architecture == architecture_named("llama");
       }},
      {"--rotary-base 500000", llama,
       whole([](const ResolvedTrain& run) { return run.options.config.rotary.theta == 500000; })},
      {"--rotary-percent 1.0", llama,
       [](const ResolvedTrain&, const ResolvedTrain& with) {
         return with.options.config.rotary.theta == 10000;
       }},
      {"--rotary-seq-len-interpolation-factor 1", llama,
       [](const ResolvedTrain&, const ResolvedTrain& with) {
         return with.options.config.rotary.theta == 10000;
       }},
      {"--use-rope-scaling", llama, whole([](const ResolvedTrain& run) {
         return run.options.config.rotary == RotaryFrequencies{.theta = 10000,
                                                               .factor = 8,
                                                               .low_frequency_factor = 1,
                                                               .high_frequency_factor = 4,
                                                               .original_positions = 8192};
       })},
      {"--rope-scaling-factor 32", llama + "--use-rope-scaling",
       whole([](const ResolvedTrain& run) { return run.options.config.rotary.factor == 32; })},
      {"--normalization LayerNorm", gpt,
       [](const ResolvedTrain&, const ResolvedTrain& with) {
         return with.options.config.architecture == architecture_named("gpt2");
       }},
      {"--norm-epsilon 1e-6", gpt, model(&ModelConfig::norm_epsilon, 1e-6)},
      {"--swiglu", no_rope,
       [](const ResolvedTrain&, const ResolvedTrain& with) {
         return with.options.config.architecture == architecture_named("llama");
       }},
      {"--disable-bias-linear",
       gpt + "--swiglu --normalization RMSNorm --position-embedding-type rope --hidden-dropout 0",
       model(&ModelConfig::ffn_bias, false)},
      {"--add-qkv-bias", llama, model(&ModelConfig::attention_bias, true)},
      {"--qk-layernorm", llama, whole([](const ResolvedTrain& run) {
         return run.options.config.architecture == architecture_named("qwen3");
       })},
      {"--num-experts 8", llama, model(&ModelConfig::experts, std::int64_t{8})},
      {"--moe-router-topk 4", experts, model(&ModelConfig::experts_per_token, std::int64_t{4})},
      {"--moe-ffn-hidden-size 48", experts, model(&ModelConfig::expert_width, std::int64_t{48})},
      {"--moe-layer-freq ([0]*1+[1]*3)", experts, whole([](const ResolvedTrain& run) {
         return run.options.config.dense_layers == std::vector<std::int64_t>{0};
       })},
      {"--moe-shared-expert-intermediate-size 32 --moe-shared-expert-gate", experts,
       model(&ModelConfig::shared_expert_width, std::int64_t{32})},
      {"--moe-shared-expert-gate --moe-shared-expert-intermediate-size 32", experts,
       whole([](const ResolvedTrain& run) {
         return run.options.config.architecture == architecture_named("qwen2_moe");
       })},
      {"--moe-router-pre-softmax", experts, model(&ModelConfig::normalized_experts, false)},
      {"--untie-embeddings-and-output-weights", gpt, model(&ModelConfig::tied_embeddings, false)},
      {"--vocab-size 500", "gpt --num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 128",
       model(&ModelConfig::vocabulary, std::int64_t{500})},
      {"--make-vocab-size-divisible-by 128", gpt, model(&ModelConfig::vocabulary, std::int64_t{1024})},
      {"--init-method-std 0.006", gpt, model(&ModelConfig::initializer_range, 0.006)},
      {"--attention-dropout 0", gpt, model(&ModelConfig::attention_dropout, 0.0)},
      {"--hidden-dropout 0", gpt, model(&ModelConfig::residual_dropout, 0.0)},
  };
}

std::vector<Effect> training_effects() {
  const std::string gpt(kGpt);
  const std::string batches = gpt + "--global-batch-size 8 --micro-batch-size 2 ";
  return {
      {"--train-iters 7", gpt, option(&TrainOptions::max_steps, std::int64_t{7})},
      {"--train-samples 80", batches, option(&TrainOptions::max_steps, std::int64_t{10})},
      // 4 samples until 8 are consumed, then 8.
      {"--rampup-batch-size 4 0_4 8", batches, whole([](const ResolvedTrain& run) {
         return run.options.batches ==
                    BatchSchedule::ramp_up({.start = 4, .increment = 4, .samples = 8, .size = 8}) &&
                run.options.batch_size == 2 && run.options.accumulation == 4;
       })},
      // In tokens, of which a sample has 128.
      {"--step-batch-size-schedule 0:4 1.28K:16", gpt + "--micro-batch-size 2",
       whole([](const ResolvedTrain& run) {
         const std::vector<BatchSchedule::Change> changes{{0, 4}, {10, 16}};
         return run.options.batches == BatchSchedule::stepwise(changes) && run.options.accumulation == 8;
       })},
      {"--decrease-batch-size-if-needed",
       gpt + "--micro-batch-size 4 --global-batch-size 8 --rampup-batch-size 4 2 8",
       [](const ResolvedTrain&, const ResolvedTrain& with) {
         return with.options.batches->phases().size() == 2;  // 4, 6 as 4, 8
       }},
      {"--lr 0.00015", gpt, rate(&LearningRate::peak, 0.00015)},
      {"--lr-decay-style cosine", gpt, rate(&LearningRate::decay, Decay::kCosine)},
      {"--min-lr 1e-5", gpt, rate(&LearningRate::minimum, 1e-5)},
      // All in samples: an iteration is a global batch.
      {"--lr-decay-iters 9", batches, rate(&LearningRate::decay_end, 72.0)},
      {"--lr-decay-samples 80", batches, rate(&LearningRate::decay_end, 80.0)},
      {"--lr-warmup-iters 3", batches, rate(&LearningRate::warmup, 24.0)},
      {"--lr-warmup-samples 16", batches, rate(&LearningRate::warmup, 16.0)},
      {"--lr-warmup-fraction .25", batches + "--train-iters 5", rate(&LearningRate::warmup, 10.0)},
      {"--lr-wsd-decay-iters 2", batches, rate(&LearningRate::stable_decay_length, 16.0)},
      {"--lr-wsd-decay-samples 17", batches, rate(&LearningRate::stable_decay_length, 17.0)},
      {"--lr-wsd-decay-style minus_sqrt", gpt,
       rate(&LearningRate::stable_decay, StableDecay::kMinusSquareRoot)},
      {"--weight-decay-incr-style linear", gpt + "--start-weight-decay 0.01 --end-weight-decay 0.1",
       [](const ResolvedTrain&, const ResolvedTrain& with) {
         const auto decay = with.options.optimizer.weight_decay_schedule;
         return decay && decay->start == 0.01 && decay->end == 0.1 &&
                with.options.optimizer.weight_decay == 0.1 && decay->growth == WeightDecayGrowth::kLinear;
       }},
      {"--lr-warmup-init 1e-6", gpt, rate(&LearningRate::start, 1e-6)},
      {"--clip-grad 0.5", gpt, optimizer(&OptimizerOptions::max_grad_norm, 0.5)},
      {"--adam-beta1 0.8", gpt, optimizer(&OptimizerOptions::beta1, 0.8)},
      {"--adam-beta2 0.95", gpt, optimizer(&OptimizerOptions::beta2, 0.95)},
      {"--adam-eps 1e-5", gpt, optimizer(&OptimizerOptions::epsilon, 1e-5)},
      {"--sgd-momentum 0.5", gpt, optimizer(&OptimizerOptions::momentum, 0.5)},
      {"--bf16", gpt, option(&TrainOptions::dtype, DType::kBF16)},
      {"--fp16", gpt, option(&TrainOptions::dtype, DType::kF16)},
      {"--exit-interval 5", gpt, whole([](const ResolvedTrain& run) { return run.exit_interval == 5; })},
      {"--exit-duration-in-mins 5", gpt,
       whole([](const ResolvedTrain& run) { return run.exit_minutes == 5; })},
      {"--num-layers-per-virtual-pipeline-stage 1", gpt + "--pp 2", whole([](const ResolvedTrain& run) {
         return run.options.plan.virtual_stages == 2 &&
                run.options.plan.schedule == ScheduleKind::kInterleaved;
       }),
       2},
      {"--num-virtual-stages-per-pipeline-rank 2", gpt + "--pp 2", whole([](const ResolvedTrain& run) {
         return run.options.plan.virtual_stages == 2 &&
                run.options.plan.schedule == ScheduleKind::kInterleaved;
       }),
       2},
      {"--decoder-first-pipeline-num-layers 1", gpt + "--pp 2", whole([](const ResolvedTrain& run) {
         return run.options.plan.partition == std::vector<std::int64_t>{1, 3};
       }),
       2},
      {"--decoder-last-pipeline-num-layers 1", gpt + "--pp 2", whole([](const ResolvedTrain& run) {
         return run.options.plan.partition == std::vector<std::int64_t>{3, 1};
       }),
       2},
      {"--use-distributed-optimizer", gpt,
       whole([](const ResolvedTrain& run) { return run.options.plan.zero_stage == 1; }), 2},
      {"--recompute-activations", gpt, whole([](const ResolvedTrain& run) {
         return run.options.recompute.granularity == Recompute::Granularity::kSelective;
       })},
      {"--checkpoint-activations", gpt, whole([](const ResolvedTrain& run) {
         return run.options.recompute.granularity == Recompute::Granularity::kFull;
       })},
      {"--activations-checkpoint-method block", gpt, whole([](const ResolvedTrain& run) {
         return run.options.recompute.granularity == Recompute::Granularity::kFull &&
                run.options.recompute.method == Recompute::Method::kBlock;
       })},
      {"--use-flash-attn", gpt,
       [](const ResolvedTrain&, const ResolvedTrain& with) { return with.options.fused_attention; }},
      {"--attention-backend unfused", gpt, option(&TrainOptions::fused_attention, false)},
      {"--deterministic-mode", gpt,
       whole([](const ResolvedTrain& run) { return run.options.math.deterministic; })},
  };
}

// In a folder with a run's checkpoint in run/.
std::vector<Effect> file_effects() {
  const std::string gpt(kGpt);
  const auto path = [](std::filesystem::path TrainOptions::*member, const char* expected) {
    return option(member, std::filesystem::path(expected));
  };
  return {
      {"--load run", gpt, path(&TrainOptions::resume_from, "run/checkpoint-4")},
      {"--ckpt-step 4", gpt + "--load run",
       [](const ResolvedTrain&, const ResolvedTrain& with) {
         return with.options.resume_from == "run/checkpoint-4";
       }},
      {"--no-load-optim", gpt + "--load run", option(&TrainOptions::resume_optimizer, false)},
      {"--override-opt_param-scheduler", gpt + "--load run",
       option(&TrainOptions::schedule_on_resume, ScheduleOnResume::kNew)},
      {"--use-checkpoint-opt_param-scheduler", gpt + "--load run",
       option(&TrainOptions::schedule_on_resume, ScheduleOnResume::kOfCheckpoint)},
      {"--finetune", gpt + "--load run", path(&TrainOptions::init_from, "run/checkpoint-4")},
      {"--pretrained-checkpoint there", gpt, path(&TrainOptions::init_from, "there")},
      {"--save out", gpt, path(&TrainOptions::save_dir, "out")},
      {"--save-interval 3", gpt + "--save out", option(&TrainOptions::save_steps, std::int64_t{3})},
      {"--ckpt-format torch", gpt + "--save out", option(&TrainOptions::save_form, SaveForm::kTorch)},
      {"--transformer-impl local", gpt + "--save out --ckpt-format torch",
       option(&TrainOptions::save_names, MegatronNaming::kLocal)},
      {"--use-dist-ckpt", gpt + "--save out", option(&TrainOptions::save_form, SaveForm::kTorchDist)},
      {"--no-save-optim", gpt + "--save out", option(&TrainOptions::save_optimizer, false)},
      {"--use-checkpoint-args", gpt + "--load run", model(&ModelConfig::layers, std::int64_t{2})},
      {"--eval-interval 4", gpt, option(&TrainOptions::eval_steps, std::int64_t{4})},
      {"--eval-iters 0", gpt, option(&TrainOptions::evaluate, false)},
      {"--log-interval 3", gpt, whole([](const ResolvedTrain& run) { return run.logging_steps == 3; })},
      {"--log-throughput", gpt, whole([](const ResolvedTrain& run) { return run.log_throughput; })},
      {"--profile-ranks 1 3", gpt + "--profile", whole([](const ResolvedTrain& run) {
         return run.options.trace->recorded_ranks == std::set<std::int64_t>{1, 3};
       }),
       4},
      {"--timing-log-level 2", gpt,
       whole([](const ResolvedTrain& run) { return run.timing_level == 2 && run.options.time_parts; })},
      {"--timing-log-option all", gpt,
       whole([](const ResolvedTrain& run) { return run.timing_option == TimingOption::kAll; })},
      // Steps 12 and 13, after the eleventh, which is recorded and forgotten: Megatron's window 11 to 13,
      // where iterations count from 0.
      {"--profile-step-start 11", gpt + "--profile --profile-step-end 13",
       whole([](const ResolvedTrain& run) {
         return run.options.trace->wait == 10 && run.options.trace->warmup == 1 &&
                run.options.trace->active == 2;
       })},
      {"--profile-step-end 14", gpt + "--profile",
       whole([](const ResolvedTrain& run) { return run.options.trace->active == 4; })},
      {"--profile", gpt + "--tensorboard-dir events", whole([](const ResolvedTrain& run) {
         return run.options.trace && run.options.trace->folder == "events" && run.options.trace->wait == 9;
       })},
  };
}

// Those have tests of their own, here or beside what reads them.
const std::set<std::string> kElsewhere{
    "--mock-data",          "--tokenizer-type",      "--tokenizer-model",
    "--vocab-file",         "--merge-file",          "--exit-on-missing-checkpoint",
    "--start-weight-decay", "--end-weight-decay",    "--data-args-path",
    "--train-data-path",    "--valid-data-path",     "--per-split-data-args-path",
    "--eod-mask-loss",      "--use-pytorch-profiler"};

class MegatronFlags : public testing::Test {
 protected:
  MegatronFlags() {
    write_text("run/checkpoint-4/training_state.json", "{}");
    write_text("run/checkpoint-4/config.json",
               R"({"model_type": "gpt2", "n_layer": 2, "n_positions": 128, "n_embd": 64, "n_head": 4, )"
               R"("vocab_size": 1000})");
  }
  const WorkingFolder folder_;
};

TEST_F(MegatronFlags, EachOneThatActsDoesSo) {
  std::set<std::string> seen(kElsewhere.begin(), kElsewhere.end());
  std::vector<Effect> all = model_effects();
  for (const std::vector<Effect>& more : {training_effects(), file_effects()})
    all.insert(all.end(), more.begin(), more.end());
  for (const Effect& effect : all) {
    SCOPED_TRACE(effect.flag);
    const std::string name = effect.flag.substr(0, effect.flag.find(' '));
    std::string spelled = name;
    std::ranges::replace(spelled, '_', '-');
    seen.insert(spelled);
    ResolvedTrain without;
    try {
      without = resolve_for_tests(effect.together, effect.ranks);
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), AnyOf(name + " is missing", HasSubstr("needs " + name),
                                         HasSubstr("does not divide into micro-batches")));
    }
    const ResolvedTrain with = resolve_for_tests(effect.together + " " + effect.flag, effect.ranks);
    EXPECT_TRUE(effect.acts(without, with));
    EXPECT_EQ(with.log_format, LogFormat::kMegatron);
    EXPECT_THAT(notes_of(with), Not(HasSubstr("no effect here")));
  }
  for (const MegatronFlag& flag : megatron_flags()) {
    if (flag.effect != MegatronEffect::kActs) continue;
    EXPECT_TRUE(seen.contains(std::string(flag.spec.names[0]))) << flag.spec.names[0];
  }
}

TEST_F(MegatronFlags, EachOneWithoutEffectIsNamed) {
  for (const MegatronFlag& flag : megatron_flags()) {
    if (flag.effect != MegatronEffect::kNone) continue;
    const std::string name(flag.spec.names[0]);
    const std::string value = flag.spec.value.empty() ? "" : " 1";
    const ResolvedTrain run = resolve_for_tests("gpt2 " + name + value);
    EXPECT_EQ(notes_of(run), "no effect here: " + name + "\n");
    EXPECT_EQ(run.log_format, LogFormat::kMegatron);
    EXPECT_FALSE(flag.reason.empty()) << name;
  }
  const ResolvedTrain several =
      resolve_for_tests("gpt2 --num-workers 1 --use-mcore-models --overlap-grad-reduce");
  EXPECT_EQ(notes_of(several), "no effect here: --use-mcore-models, --overlap-grad-reduce, --num-workers\n");
}

TEST_F(MegatronFlags, EachOneThatCannotBeFollowedIsRefused) {
  for (const MegatronFlag& flag : megatron_flags()) {
    if (flag.effect != MegatronEffect::kRefused) continue;
    const std::string name(flag.spec.names[0]);
    EXPECT_THAT(refusal_for_tests("gpt2 " + name + (flag.spec.value.empty() ? "" : " 1")),
                StartsWith(name + " is not supported: "));
  }
  EXPECT_EQ(
      refusal_for_tests("gpt2 --reset-position-ids"),
      "--reset-position-ids is not supported: attention and positions continue across the documents of a "
      "sequence");
}

TEST_F(MegatronFlags, BatchesThatCannotRampUpAreRefused) {
  const std::string gpt(kGpt);
  EXPECT_EQ(refusal_for_tests(gpt + "--rampup-batch-size 4 4 8 --micro-batch-size 2"),
            "--rampup-batch-size needs --global-batch-size | the size to which the batch grows");
  EXPECT_EQ(refusal_for_tests(gpt + "--rampup-batch-size 4 4 8 --global-batch-size 8"),
            "--rampup-batch-size needs --micro-batch-size | a step grows by micro-batches, whose size stays");
  const std::string batches = gpt + "--global-batch-size 8 --micro-batch-size 2 ";
  EXPECT_THAT(refusal_for_tests(batches + "--rampup-batch-size 4 4"),
              StartsWith("--rampup-batch-size takes three"));
  EXPECT_THAT(refusal_for_tests(batches + "--rampup-batch-size 4 4 x"),
              StartsWith("--rampup-batch-size: 'x' is not a count"));
  EXPECT_EQ(
      refusal_for_tests(batches + "--rampup-batch-size 3 5 8"),
      "a global batch of 3, from step 1 on, does not divide into micro-batches of 2 on 1 data-parallel rank "
      "| every size is a multiple of 2 x 1; --decrease-batch-size-if-needed rounds down");
  EXPECT_THAT(refusal_for_tests(batches + "--step-batch-size-schedule 0:4"),
              StartsWith("--step-batch-size-schedule and --global-batch-size contradict each other"));
  EXPECT_THAT(refusal_for_tests(gpt + "--micro-batch-size 2 --step-batch-size-schedule 4"),
              StartsWith("--step-batch-size-schedule: '4' is no entry TOKENS:SIZE"));
  EXPECT_EQ(
      refusal_for_tests(gpt + "--lr-decay-style WSD"),
      "a learning rate of style WSD needs --lr-wsd-decay-iters or --lr-wsd-decay-samples | it says how long "
      "before the end the learning rate begins to fall");
  EXPECT_THAT(refusal_for_tests(gpt + "--end-weight-decay 1"),
              StartsWith("--end-weight-decay needs --weight-decay-incr-style"));
  EXPECT_THAT(refusal_for_tests(gpt + "--load run --ckpt-step 3"),
              testing::HasSubstr("there is no checkpoint after step 3"));
}

// 8 samples a step: 4 until 8 are consumed (two steps), then 8; Megatron throws away what does not fill a
// batch, so 8 + 3 * 8 of 39 samples, in 2 + 1 + 2 steps (the step that begins at 8 samples is of the
// ramp-up).
TEST_F(MegatronFlags, SamplesOfARampUpBecomeSteps) {
  const ResolvedTrain run = resolve_for_tests(
      std::string(kGpt) +
      "--global-batch-size 8 --micro-batch-size 2 --rampup-batch-size 4 4 8 --train-samples 39");
  EXPECT_EQ(run.options.max_steps, 5);
  EXPECT_EQ(run.options.optimizer.learning_rate.total, 39);
  EXPECT_EQ(run.options.optimizer.learning_rate.unit, ScheduleUnit::kSamples);
}

TEST_F(MegatronFlags, NamesAreUniqueAndTheUnknownHasANeighbour) {
  std::set<std::string_view> names;
  const Flags flags = train_flags_for_tests("");
  for (const FlagSpec& spec : flags.specs())
    for (const std::string_view name : spec.names) EXPECT_TRUE(names.insert(name).second) << name;
  EXPECT_EQ(refusal_for_tests("gpt2 --num-layer 4"),
            "unknown flag '--num-layer' | did you mean '--num-layers'?");
  EXPECT_EQ(refusal_for_tests("gpt2 --no-load-optimizer"),
            "unknown flag '--no-load-optimizer' | did you mean '--no-load-optim'?");
}

TEST_F(MegatronFlags, NadisOwnKeepItsLog) {
  const ResolvedTrain own = resolve_for_tests("gpt2 --batch-size 2 --max-steps 3 --tp 1 --seq-length 64");
  EXPECT_EQ(own.log_format, LogFormat::kNadi);
  EXPECT_EQ(own.options.seed, 42u);
  EXPECT_FALSE(own.options.optimizer.learning_rate.late_warmup);
  EXPECT_EQ(resolve_for_tests("gpt2 --log-format megatron").log_format, LogFormat::kMegatron);
  const ResolvedTrain megatron = resolve_for_tests("gpt2 --train-iters 3 --log-format nadi");
  EXPECT_EQ(megatron.log_format, LogFormat::kNadi);
  EXPECT_EQ(megatron.options.seed, 1234u);
  EXPECT_TRUE(megatron.options.optimizer.learning_rate.late_warmup);
}

TEST_F(MegatronFlags, ItsAdamIsAdamW) {
  EXPECT_EQ(resolve_for_tests("gpt2 --optimizer adam").options.optimizer.kind, OptimizerKind::kAdam);
  const ResolvedTrain run = resolve_for_tests("gpt2 --optimizer adam --lr 1e-4");
  EXPECT_EQ(run.options.optimizer.kind, OptimizerKind::kAdamW);
  EXPECT_EQ(notes_of(run), "--optimizer adam is Megatron's, whose weight decay is that of adamw\n");
}

TEST_F(MegatronFlags, TwoNamesAreOneTooMany) {
  EXPECT_EQ(refusal_for_tests("gpt2 --lr 1e-4 --learning-rate 1e-4"),
            "--learning-rate and --lr are two names of the same thing | give one of them");
  EXPECT_EQ(refusal_for_tests("gpt2 --bf16 --fp16"), "--bf16 and --fp16 contradict each other");
  EXPECT_EQ(refusal_for_tests("gpt2 --bf16 --dtype fp16"), "--dtype fp16 and --bf16 contradict each other");
  EXPECT_EQ(refusal_for_tests("gpt2 --bf16 --dtype bf16"), "no error");
  // As scripts do it.
  EXPECT_EQ(refusal_for_tests("gpt2 --weight-decay 1e-2 --bf16 --weight-decay 1e-2 --bf16"), "no error");
  EXPECT_EQ(resolve_for_tests("gpt2 --weight-decay 1e-2 --weight-decay 1e-3").options.optimizer.weight_decay,
            1e-3);
}

TEST_F(MegatronFlags, LoadingTakesWhatIsThere) {
  const std::string gpt(kGpt);
  EXPECT_THAT(notes_of(resolve_for_tests(gpt + "--load nowhere")),
              HasSubstr("there is no folder nowhere: starting from the beginning\n"));
  EXPECT_THROW(resolve_for_tests(gpt + "--load nowhere --exit-on-missing-checkpoint"), Error);
  // The run's own folder may be both.
  EXPECT_EQ(resolve_for_tests(gpt + "--load run --save run").options.resume_from, "run/checkpoint-4");
  EXPECT_EQ(
      refusal_for_tests(gpt + "--load nowhere --save run"),
      "run has checkpoints of a run, the newest after step 4 | continue it with --resume, choose another "
      "--save, or overwrite them with --force");
  EXPECT_EQ(resolve_for_tests(gpt + "--save run --resume").options.resume_from, "run/checkpoint-4");
  write_text("weights/model.safetensors", "");
  const ResolvedTrain from = resolve_for_tests(gpt + "--load weights");
  EXPECT_EQ(from.options.init_from, "weights");
  EXPECT_THAT(notes_of(resolve_for_tests(gpt + "--save-interval 10")),
              HasSubstr("--save-interval has no effect without --save\n"));
  EXPECT_THAT(notes_of(resolve_for_tests(gpt + "--ckpt-format torch")),
              HasSubstr("--ckpt-format has no effect without --save\n"));
  EXPECT_EQ(refusal_for_tests(gpt + "--save out --ckpt-format torch --use-dist-ckpt"),
            "--use-dist-ckpt is --ckpt-format torch_dist: it contradicts another --ckpt-format");
  // No model is given but that of the checkpoint.
  const ResolvedTrain of_checkpoint = resolve_for_tests("--load run --use-checkpoint-args --seq-length 128");
  EXPECT_EQ(of_checkpoint.options.config.layers, 2);
  EXPECT_EQ(of_checkpoint.options.resume_from, "run/checkpoint-4");
}

TEST_F(MegatronFlags, MockDataIsTheSample) {
  EXPECT_EQ(refusal_for_tests("gpt2 --mock-data --split 99,1,0"), "no error");
  EXPECT_EQ(refusal_for_tests("gpt2 --mock-data --data-path a --train-iters 1"),
            "--mock-data and --data-path contradict each other");
}

TEST_F(MegatronFlags, DataPathsAreWeightedOrNot) {
  const Flags flags = train_flags_for_tests("gpt2 --data-path 0.3 a 0.7 b --split 949,50,1 --train-iters 2");
  EXPECT_EQ(flags.texts("--data-path"), (std::vector<std::string>{"0.3", "a", "0.7", "b"}));
  EXPECT_EQ(refusal_for_tests("gpt2 --split 1,1,1"),
            "--split needs --data-path | it is for indexed datasets of 'nadi data preprocess'");
}

}  // namespace
}  // namespace nadi::inline show
