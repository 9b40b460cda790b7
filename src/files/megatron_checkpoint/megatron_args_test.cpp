#include "nadi/megatron_checkpoint/megatron_args.h"

#include <gmock/gmock.h>

#include "nadi/base/error.h"
#include "nadi/base/files_for_tests.h"
#include "nadi/megatron_checkpoint/megatron_args_writer.h"
#include "nadi/model/tiny_models_for_tests.h"

namespace nadi::inline files {
namespace {

using testing::HasSubstr;

MegatronFacts facts_of(const ModelConfig& config) {
  const bool gated = config.architecture->rotary();
  return {.encoder = config.architecture == architecture_named("bert"),
          .layers = config.layers,
          .width = config.width,
          .padded_vocabulary = 128,
          .positions = gated ? 0 : config.positions,
          .token_types = config.architecture == architecture_named("bert") ? config.token_types : 0,
          .qkv_rows = (config.heads + 2 * config.kv_heads) * config.head_width,
          .fc1_rows = gated ? 2 * config.ffn_width : config.ffn_width,
          .ffn_width = config.ffn_width,
          .norm_bias = !gated,
          .head_norms = config.architecture->head_norms(),
          .qkv_bias = config.attention_bias,
          .attention_output_bias = config.attention_output_bias,
          .ffn_bias = config.ffn_bias,
          .own_output_layer = !config.tied_embeddings};
}

class MegatronArgs : public testing::Test {
 protected:
  // Arguments as Nadi writes them, but without its configuration: what Megatron itself knows.
  PickleValue args_of(const ModelConfig& config, const MegatronTarget& target = {}) {
    const PickleValue args = megatron_args(values_, ShardLayout(config, {}), target, std::nullopt);
    values_.set_attribute(args, kNadiConfig, values_.none());
    return args;
  }

  std::string message_of(PickleValue args, const MegatronFacts& facts) {
    const auto error = error_of([&] { config_of(args, facts, "file"); });
    return error ? error->what() : "no error";
  }

  PickleArena values_{"file"};
};

TEST_F(MegatronArgs, GiveTheModelBack) {
  for (const Architecture& architecture :
       {architecture_named("gpt2"), architecture_named("bert"), architecture_named("llama"),
        architecture_named("qwen2"), architecture_named("qwen3")}) {
    ModelConfig config = tiny_model(architecture, 3);
    config.embedding_dropout = config.residual_dropout;  // Megatron has one for both
    if (architecture->rotary())
      config.rotary = {.theta = 500000,
                       .factor = 8,
                       .low_frequency_factor = 1,
                       .high_frequency_factor = 4,
                       .original_positions = 8192};
    const ModelConfig back = config_of(args_of(config), facts_of(config), "file");
    EXPECT_EQ(back.architecture, architecture);
    EXPECT_EQ(back.vocabulary, config.vocabulary);
    EXPECT_EQ(back.positions, config.positions);
    EXPECT_EQ(back.heads, config.heads);
    EXPECT_EQ(back.kv_heads, config.kv_heads);
    EXPECT_EQ(back.head_width, config.head_width);
    EXPECT_EQ(back.ffn_width, config.ffn_width);
    EXPECT_EQ(back.norm_epsilon, config.norm_epsilon);
    EXPECT_EQ(back.initializer_range, config.initializer_range);
    EXPECT_EQ(back.attention_dropout, config.attention_dropout);
    EXPECT_EQ(back.residual_dropout, config.residual_dropout);
    EXPECT_EQ(back.tied_embeddings, config.tied_embeddings);
    EXPECT_EQ(back.attention_bias, config.attention_bias);
    EXPECT_EQ(back.attention_output_bias, config.attention_output_bias);
    EXPECT_EQ(back.rotary, config.rotary);
    if (!architecture->rotary()) {
      EXPECT_EQ(back.activation, config.activation);
    }
  }
}

TEST_F(MegatronArgs, HaveTheTruePrecision) {
  const ModelConfig config = tiny_model(architecture_named("llama"), 1);
  for (const auto& [dtype, bf16, fp16] :
       {std::tuple(FileDType::kBF16, true, false), std::tuple(FileDType::kF16, false, true),
        std::tuple(FileDType::kF32, false, false)}) {
    const PickleValue args = args_of(config, {.dtype = dtype});
    EXPECT_EQ(args.at("params_dtype").as_dtype(), dtype);
    EXPECT_EQ(args.at("bf16").as_bool(), bf16);
    EXPECT_EQ(args.at("fp16").as_bool(), fp16);
  }
  EXPECT_EQ(args_of(config).at("tokenizer_type").as_text(), "HuggingFaceTokenizer");
  EXPECT_EQ(args_of(config).at("seq_length").as_int64(), config.positions);
}

// That tokenizer counts an end of document besides its vocabulary.
TEST_F(MegatronArgs, CountTheVocabularyOfNoTokenizer) {
  const ModelConfig config = tiny_model(architecture_named("gpt2"), 1);
  const PickleValue args = args_of(config, {.tokenizer_type = "NullTokenizer"});
  EXPECT_EQ(args.at("vocab_size").as_int64(), 12);
  EXPECT_EQ(config_of(args, facts_of(config), "file").vocabulary, 13);
}

TEST_F(MegatronArgs, RefuseWhatNoModelHas) {
  const ModelConfig config = tiny_model(architecture_named("llama"), 1);
  const MegatronFacts facts = facts_of(config);
  PickleValue args = args_of(config);
  values_.set_attribute(args, "num_experts", values_.integer(8));
  EXPECT_THAT(message_of(args, facts), HasSubstr("no model with experts; this one has 8"));
  args = args_of(config);
  values_.set_attribute(args, "rotary_percent", values_.real(0.5));
  EXPECT_THAT(message_of(args, facts), HasSubstr("rotary positions on a part of each head only (0.5)"));
  args = args_of(config);
  values_.set_attribute(args, "num_attention_heads", values_.none());
  EXPECT_THAT(message_of(args, facts), HasSubstr("how many attention heads the model has"));
  args = args_of(config);
  values_.set_attribute(args, "num_query_groups", values_.text("four"));
  EXPECT_THAT(message_of(args, facts), HasSubstr("num_query_groups"));
  MegatronFacts odd = facts;
  odd.norm_bias = true;
  EXPECT_THAT(message_of(args_of(config), odd), HasSubstr("rotary positions, norms with bias and a gated"));
  odd = facts;
  odd.layers = 2;
  EXPECT_EQ(config_of(args_of(config), odd, "file").layers, 2);  // the tensors decide
}

TEST_F(MegatronArgs, SayWhereTheTrainingStands) {
  const TrainingProgress progress{
      .iteration = 5, .samples = 40, .adam = AdamNumbers{.updates = 4, .rate = 0.002, .weight_decay = 0.01}};
  const PickleValue root = values_.dict(), optimizer = values_.dict(), groups = values_.list();
  values_.set(root, "iteration", values_.integer(5));
  values_.set(
      root, "args",
      megatron_args(values_, ShardLayout(tiny_model(architecture_named("llama"), 1), {}), {}, progress));
  for (const bool decays : {false, true}) values_.append(groups, megatron_group(values_, progress, decays));
  values_.set(optimizer, "param_groups", groups);
  values_.set(root, "optimizer", optimizer);
  values_.set(root, "opt_param_scheduler", megatron_scheduler(values_, progress));
  const TrainingProgress back = progress_of(root);
  EXPECT_EQ(back.iteration, 5);
  EXPECT_EQ(back.samples, 40);
  EXPECT_EQ(back.adam, progress.adam);
  EXPECT_EQ(back.schedule->decay, "constant");
  EXPECT_EQ(back.schedule->max_rate, 0.002);
  EXPECT_EQ(back.texts.at("tokenizer_type"), "HuggingFaceTokenizer");
}

}  // namespace
}  // namespace nadi::inline files
