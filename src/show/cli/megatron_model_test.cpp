#include "nadi/megatron/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nadi/cli/train_options_for_tests.h"
#include "nadi/model/catalogue.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;

// The numbers of Megatron's Llama 3.1 scripts.
constexpr std::string_view kLlama31 =
    "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 "
    "--group-query-attention "
    "--num-query-groups 8 --seq-length 8192 --max-position-embeddings 131072 --swiglu --normalization "
    "RMSNorm "
    "--position-embedding-type rope --rotary-base 500000 --use-rope-scaling --disable-bias-linear "
    "--untie-embeddings-and-output-weights --vocab-size 128256 --attention-dropout 0.0 --hidden-dropout 0.0 ";

ModelConfig model_of(std::string_view words) {
  return resolve_for_tests(words).options.config;
}

void expect_same(const ModelConfig& a, const ModelConfig& b) {
  EXPECT_EQ(a.architecture, b.architecture);
  EXPECT_EQ(a.vocabulary, b.vocabulary);
  EXPECT_EQ(a.positions, b.positions);
  EXPECT_EQ(a.layers, b.layers);
  EXPECT_EQ(a.width, b.width);
  EXPECT_EQ(a.heads, b.heads);
  EXPECT_EQ(a.kv_heads, b.kv_heads);
  EXPECT_EQ(a.head_width, b.head_width);
  EXPECT_EQ(a.ffn_width, b.ffn_width);
  EXPECT_EQ(a.token_types, b.token_types);
  EXPECT_EQ(a.activation, b.activation);
  EXPECT_EQ(a.norm_epsilon, b.norm_epsilon);
  EXPECT_EQ(a.initializer_range, b.initializer_range);
  EXPECT_EQ(a.embedding_dropout, b.embedding_dropout);
  EXPECT_EQ(a.attention_dropout, b.attention_dropout);
  EXPECT_EQ(a.residual_dropout, b.residual_dropout);
  EXPECT_EQ(a.tied_embeddings, b.tied_embeddings);
  EXPECT_EQ(a.attention_bias, b.attention_bias);
  EXPECT_EQ(a.attention_output_bias, b.attention_output_bias);
  EXPECT_EQ(a.ffn_bias, b.ffn_bias);
  EXPECT_EQ(a.rotary, b.rotary);
}

TEST(MegatronModel, BuiltInModelsCanBeGivenByFlags) {
  expect_same(model_of(kLlama31), *find_built_in_model("llama3.1-8b"));
  expect_same(model_of(std::string("llama ") + std::string(kLlama31)), *find_built_in_model("llama3.1-8b"));
  expect_same(model_of("gpt --num-layers 12 --hidden-size 768 --num-attention-heads 12 --seq-length 1024 "
                       "--max-position-embeddings 1024 --vocab-size 50257"),
              *find_built_in_model("gpt2"));
  expect_same(model_of("bert --num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 512 "
                       "--vocab-size 30522"),
              *find_built_in_model("bert-large-uncased"));
}

TEST(MegatronModel, WithoutAVocabularyItIsForTheDataToSay) {
  EXPECT_EQ(model_of("gpt --num-layers 1 --hidden-size 8 --num-attention-heads 2 --seq-length 8").vocabulary,
            0);
}

// 8/3 of 4096 are 10922; in multiples of 64: 170 x 64.
TEST(MegatronModel, TheFeedForwardLayerHasMegatronsDefault) {
  EXPECT_EQ(
      model_of("llama --num-layers 1 --hidden-size 4096 --num-attention-heads 32 --seq-length 8").ffn_width,
      10880);
  EXPECT_EQ(model_of("gpt --num-layers 1 --hidden-size 64 --num-attention-heads 4 --seq-length 8").ffn_width,
            256);
}

TEST(MegatronModel, LlamaMayHaveBiases) {
  const ModelConfig config = model_of(
      "gpt --num-layers 1 --hidden-size 64 --num-attention-heads 4 --seq-length 8 --swiglu --normalization "
      "RMSNorm "
      "--position-embedding-type rope");
  EXPECT_EQ(config.architecture, architecture_named("llama"));
  EXPECT_TRUE(config.attention_bias && config.ffn_bias);
}

TEST(MegatronModel, WhatNoArchitectureHasIsNamed) {
  const std::string gpt = "gpt --num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 128 ";
  const std::string bert = "bert --num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 128 ";
  const std::string llama = "llama --num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 128 ";
  EXPECT_EQ(
      refusal_for_tests(gpt + "--position-embedding-type rope"),
      "no architecture of Nadi has rotary positions with LayerNorm and GELU | Llama's has "
      "--position-embedding-type rope, --normalization RMSNorm and --swiglu: --normalization RMSNorm and "
      "--swiglu are missing; GPT-2's has none of them");
  EXPECT_THAT(refusal_for_tests(gpt + "--swiglu --normalization RMSNorm"),
              HasSubstr("no architecture of Nadi has RMSNorm and SwiGLU with learned positions | "));
  EXPECT_EQ(refusal_for_tests(gpt + "--disable-bias-linear"),
            "--disable-bias-linear: gpt2 has biases | Llama's architecture may have none");
  EXPECT_EQ(refusal_for_tests(gpt + "--group-query-attention --num-query-groups 2"),
            "gpt2 has no --group-query-attention | Llama's architecture has it");
  EXPECT_THAT(refusal_for_tests(gpt + "--kv-channels 32"), HasSubstr("not --kv-channels 32"));
  EXPECT_EQ(refusal_for_tests(gpt + "--rotary-base 500000"),
            "--rotary-base needs --position-embedding-type rope | learned positions are not rotated");
  EXPECT_EQ(
      refusal_for_tests(gpt + "--no-position-embedding"),
      "--no-position-embedding needs --position-embedding-type rope | learned positions are not rotated");
  EXPECT_EQ(
      refusal_for_tests(gpt + "--position-embedding-type none"),
      "--position-embedding-type does not take 'none' | did you mean 'rope'? known: learned_absolute, rope");
  EXPECT_EQ(refusal_for_tests(bert + "--swiglu"), "bert has no SwiGLU");
  EXPECT_EQ(refusal_for_tests(llama + "--normalization LayerNorm"),
            "llama has RMSNorm, not LayerNorm | --normalization RMSNorm says so");
  EXPECT_EQ(refusal_for_tests(llama + "--rotary-percent 0.5"),
            "--rotary-percent 0.5: rope turns whole heads here | it has to be 1");
  EXPECT_EQ(refusal_for_tests(llama + "--hidden-dropout 0.1"),
            "--hidden-dropout: Llama's architecture has none but attention's | it has to be 0");
}

TEST(MegatronModel, BiasesOfQueriesKeysAndValuesAloneAreQwen2s) {
  const std::string sizes =
      "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 8 --position-embedding-type rope "
      "--normalization RMSNorm --swiglu ";
  const ModelConfig config = model_of(sizes + "--disable-bias-linear --add-qkv-bias");
  EXPECT_EQ(config.architecture, architecture_named("qwen2"));
  EXPECT_TRUE(config.attention_bias);
  EXPECT_FALSE(config.attention_output_bias || config.ffn_bias);
  EXPECT_EQ(model_of(sizes + "--add-qkv-bias").architecture, architecture_named("llama"))
      << "all have biases";
  EXPECT_EQ(refusal_for_tests("qwen2-tiny --disable-bias-linear --add-qkv-bias"), "no error");
  EXPECT_EQ(refusal_for_tests("qwen2-tiny --disable-bias-linear"),
            "--disable-bias-linear contradicts qwen2-tiny, of type qwen2");
  EXPECT_EQ(refusal_for_tests("llama-tiny --add-qkv-bias"),
            "--add-qkv-bias contradicts llama-tiny, of type llama");
}

TEST(MegatronModel, NumbersThatAreMissingOrDoNotFitAreNamed) {
  EXPECT_EQ(refusal_for_tests("gpt"),
            "--num-layers is missing | a model given by flags has --num-layers, --hidden-size and "
            "--num-attention-heads");
  EXPECT_THAT(refusal_for_tests("gpt --num-layers 2 --hidden-size 8"),
              HasSubstr("--num-attention-heads is missing"));
  EXPECT_THAT(refusal_for_tests("gpt --num-layers 2 --hidden-size 8 --num-attention-heads 2"),
              HasSubstr("--seq-length is missing"));
  EXPECT_EQ(refusal_for_tests("gpt --num-layers 2 --hidden-size 9 --num-attention-heads 2 --seq-length 8"),
            "--hidden-size 9 does not divide over 2 attention heads");
  EXPECT_EQ(refusal_for_tests("llama --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 8 "
                              "--group-query-attention --num-query-groups 3"),
            "4 attention heads are not a multiple of 3 key-value heads");
  EXPECT_EQ(refusal_for_tests("gpt --num-layers 2 --hidden-size 9000000000000000000 --num-attention-heads 2"),
            "--hidden-size is 9000000000000000000, limit 1073741824");
  EXPECT_EQ(refusal_for_tests("--train-iters 3"), "MODEL is missing") << "that alone is no model";
}

TEST(MegatronModel, AModelThatIsNamedIsNotContradicted) {
  EXPECT_EQ(refusal_for_tests("gpt2 --num-layers 12 --hidden-size 768 --num-attention-heads 12 "
                              "--max-position-embeddings 1024 --vocab-size 50257 --normalization LayerNorm"),
            "no error");
  EXPECT_EQ(refusal_for_tests(std::string("llama3.1-8b ") + std::string(kLlama31)), "no error");
  EXPECT_EQ(refusal_for_tests("gpt2 --num-layers 4"), "--num-layers 4 contradicts gpt2, where that is 12");
  EXPECT_EQ(refusal_for_tests("gpt2 --vocab-size 50000"),
            "--vocab-size 50000 contradicts gpt2, where that is 50257");
  EXPECT_EQ(refusal_for_tests("gpt2 --swiglu"), "--swiglu contradicts gpt2, of type gpt2");
  EXPECT_EQ(refusal_for_tests("gpt2 --position-embedding-type rope"),
            "--position-embedding-type contradicts gpt2, of type gpt2");
  EXPECT_EQ(refusal_for_tests("llama3.1-8b --rotary-base 10000"),
            "--rotary-base contradicts llama3.1-8b, of type llama");
  EXPECT_EQ(refusal_for_tests("gpt2 --untie-embeddings-and-output-weights"),
            "--untie-embeddings-and-output-weights contradicts gpt2, of type gpt2");
  const ModelConfig config =
      model_of("gpt2 --hidden-dropout 0.2 --attention-dropout 0.3 --init-method-std 0.01");
  EXPECT_EQ(config.residual_dropout, 0.2);
  EXPECT_EQ(config.embedding_dropout, 0.2);
  EXPECT_EQ(config.attention_dropout, 0.3);
  EXPECT_EQ(config.initializer_range, 0.01);
}

TEST(MegatronModel, DefaultsThatDoNotApplyAreSaid) {
  const ResolvedTrain run = resolve_for_tests(
      "llama --num-layers 1 --hidden-size 64 --num-attention-heads 4 --seq-length 8 --num-query-groups 2 "
      "--rope-scaling-factor 4");
  EXPECT_EQ(notes_of(run),
            "--num-query-groups has no effect without --group-query-attention\n"
            "--rope-scaling-factor has no effect without --use-rope-scaling\n"
            "Llama's architecture has no hidden dropout: Megatron's default of 0.1 is left out\n");
  EXPECT_EQ(run.options.config.attention_dropout, 0.1);
}

}  // namespace
}  // namespace nadi::inline show
