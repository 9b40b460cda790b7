#include "nadi/model/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "nadi/graph/op_definition.h"
#include "nadi/model/catalogue.h"

namespace nadi::inline describe {
namespace {

Graph forward_of(const ModelConfig& config, ForwardOptions options) {
  GraphBuilder builder;
  Layers layers(builder, config, options);
  build_forward(config, layers);
  return builder.take();
}

Graph forward_of(const char* name, ForwardOptions options = {.batch_size = 2, .seq_length = 8}) {
  return forward_of(*find_built_in_model(name), options);
}

// Published counts, summed over the graph's parameter tensors.
TEST(Parameters, OfTheBuiltInModels) {
  EXPECT_EQ(forward_of("gpt2").parameter_count(), 124'439'808);
  EXPECT_EQ(forward_of("gpt2-xl").parameter_count(), 1'557'611'200);
  EXPECT_EQ(forward_of("bert-base-uncased").parameter_count(), 109'514'298);
  EXPECT_EQ(forward_of("llama3.1-8b").parameter_count(), 8'030'261'248);
  EXPECT_EQ(forward_of("llama3.1-70b").parameter_count(), 70'553'706'496);
  EXPECT_EQ(forward_of("llama3.1-405b").parameter_count(), 405'853'388'800);
  EXPECT_EQ(forward_of("mistral-7b-v0.1").parameter_count(), 7'241'732'096);
  EXPECT_EQ(forward_of("mistral-7b-v0.3").parameter_count(), 7'248'023'552);
  EXPECT_EQ(forward_of("qwen2.5-0.5b").parameter_count(), 494'032'768);
  EXPECT_EQ(forward_of("qwen2.5-1.5b").parameter_count(), 1'543'714'304);
  EXPECT_EQ(forward_of("qwen2.5-7b").parameter_count(), 7'615'616'512);
  EXPECT_EQ(forward_of("qwen2.5-14b").parameter_count(), 14'770'033'664);
  EXPECT_EQ(forward_of("qwen2.5-32b").parameter_count(), 32'763'876'352);
  EXPECT_EQ(forward_of("qwen2.5-72b").parameter_count(), 72'706'203'648);
  EXPECT_EQ(forward_of("qwen3-0.6b").parameter_count(), 596'049'920);
  EXPECT_EQ(forward_of("qwen3-1.7b").parameter_count(), 1'720'574'976);
  EXPECT_EQ(forward_of("qwen3-4b").parameter_count(), 4'022'468'096);
  EXPECT_EQ(forward_of("qwen3-8b").parameter_count(), 8'190'735'360);
  EXPECT_EQ(forward_of("qwen3-14b").parameter_count(), 14'768'307'200);
  EXPECT_EQ(forward_of("qwen3-32b").parameter_count(), 32'762'123'264);
  EXPECT_EQ(forward_of("mixtral-8x7b").parameter_count(), 46'702'792'704);
  EXPECT_EQ(forward_of("mixtral-8x22b").parameter_count(), 140'620'634'112);
  EXPECT_EQ(forward_of("qwen3-30b-a3b").parameter_count(), 30'532'122'624);
  EXPECT_EQ(forward_of("qwen3-235b-a22b").parameter_count(), 235'093'634'560);
  const double gpt3 = static_cast<double>(forward_of("gpt3-175b").parameter_count());
  EXPECT_NEAR(gpt3 / 175e9, 1, 0.005);
}

TEST(Parameters, DoNotDependOnTheKindOfStep) {
  for (const ModelConfig& config : built_in_models()) {
    const std::int64_t training = forward_of(config, {.batch_size = 1, .seq_length = 2}).parameter_count();
    EXPECT_EQ(forward_of(config, {.mode = ForwardMode::kEvaluate, .batch_size = 1, .seq_length = 2})
                  .parameter_count(),
              training);
    if (!model_of(config.architecture).generates()) continue;
    for (const ForwardMode mode : {ForwardMode::kPrefill, ForwardMode::kDecode})
      EXPECT_EQ(forward_of(config, {.mode = mode, .batch_size = 1, .seq_length = 1, .cache_length = 4})
                    .parameter_count(),
                training)
          << config.name << " " << to_string(mode);
  }
}

std::set<std::string> parameter_names(const Graph& graph) {
  std::set<std::string> names;
  for (const TensorId id : graph.tensors_with(Role::kParameter)) names.insert(graph.tensor(id).name);
  return names;
}

// The names of Hugging Face's checkpoints; the tied output layers have none of their own.
TEST(Parameters, AreNamedAsInTheCheckpoint) {
  const auto gpt2 = parameter_names(forward_of("gpt2"));
  EXPECT_EQ(gpt2.size(), 2u + 12 * 12 + 2);
  for (const char* name :
       {"transformer.wte.weight", "transformer.wpe.weight", "transformer.h.11.ln_1.weight",
        "transformer.h.0.attn.c_attn.bias", "transformer.h.0.mlp.c_proj.weight", "transformer.ln_f.bias"})
    EXPECT_TRUE(gpt2.contains(name)) << name;
  const auto bert = parameter_names(forward_of("bert-base-uncased"));
  EXPECT_EQ(bert.size(), 5u + 12 * 16 + 5);
  for (const char* name :
       {"bert.embeddings.token_type_embeddings.weight", "bert.embeddings.LayerNorm.weight",
        "bert.encoder.layer.3.attention.self.query.weight",
        "bert.encoder.layer.3.attention.output.LayerNorm.bias",
        "bert.encoder.layer.3.intermediate.dense.weight", "bert.encoder.layer.3.output.dense.bias",
        "cls.predictions.transform.dense.weight", "cls.predictions.bias"})
    EXPECT_TRUE(bert.contains(name)) << name;
  const auto llama = parameter_names(forward_of("llama3.1-8b"));
  EXPECT_EQ(llama.size(), 1u + 32 * 9 + 2);
  for (const char* name :
       {"model.embed_tokens.weight", "model.layers.31.self_attn.q_proj.weight",
        "model.layers.31.mlp.gate_proj.weight", "model.layers.0.post_attention_layernorm.weight",
        "model.norm.weight", "lm_head.weight"})
    EXPECT_TRUE(llama.contains(name)) << name;
  EXPECT_EQ(parameter_names(forward_of("mistral-7b-v0.3")), llama);  // 32 layers, too
  const auto qwen2 = parameter_names(forward_of("qwen2.5-0.5b"));
  EXPECT_EQ(qwen2.size(), 1u + 24 * 12 + 1);
  for (const char* name : {"model.layers.23.self_attn.q_proj.bias", "model.layers.0.self_attn.k_proj.bias",
                           "model.layers.0.self_attn.v_proj.bias"})
    EXPECT_TRUE(qwen2.contains(name)) << name;
  EXPECT_FALSE(qwen2.contains("lm_head.weight") || qwen2.contains("model.layers.0.self_attn.o_proj.bias"));
}

TEST(Parameters, Gpt2StoresItsWeightsInByOut) {
  const Graph graph = forward_of("gpt2");
  EXPECT_EQ(graph.tensor(*graph.find_tensor("transformer.h.0.attn.c_attn.weight")).shape, (Shape{768, 2304}));
  const Graph bert = forward_of("bert-base-uncased");
  EXPECT_EQ(bert.tensor(*bert.find_tensor("bert.encoder.layer.0.intermediate.dense.weight")).shape,
            (Shape{3072, 768}));
}

int count(const Graph& graph, OpKind kind) {
  return static_cast<int>(std::ranges::count_if(graph.ops(), [&](const Op& op) { return op.kind == kind; }));
}

TEST(Dropout, IsThereInTrainingOnly) {
  // One on the embeddings, two per block; attention has its own inside.
  EXPECT_EQ(count(forward_of("gpt2"), OpKind::kDropout), 1 + 2 * 12);
  EXPECT_EQ(count(forward_of("gpt2", {.mode = ForwardMode::kEvaluate, .seq_length = 8}), OpKind::kDropout),
            0);
  EXPECT_EQ(count(forward_of("llama3.1-8b"), OpKind::kDropout), 0);
}

TEST(Attention, UnfusedIsMadeOfProductsAndSoftmax) {
  const Graph graph = forward_of("llama3.1-8b", {.seq_length = 8, .fused_attention = false});
  EXPECT_EQ(count(graph, OpKind::kAttention), 0);
  EXPECT_EQ(count(graph, OpKind::kSoftmax), 32);
  EXPECT_EQ(count(graph, OpKind::kRepeatHeads), 2 * 32);  // 8 key-value heads for 32 queries
}

TEST(Decode, WritesOneRowPerCacheAndReadsAllOfIt) {
  const Graph graph = forward_of(
      "gpt2", {.mode = ForwardMode::kDecode, .batch_size = 3, .seq_length = 1, .cache_length = 30});
  EXPECT_EQ(count(graph, OpKind::kCacheWrite), 2 * 12);
  const Tensor& cache = graph.tensor(*graph.find_tensor("transformer.h.0.attn.k_cache"));
  EXPECT_EQ(cache.shape, (Shape{3, 30, 768}));
  EXPECT_EQ(cache.role, Role::kCache);
  EXPECT_EQ(count(graph, OpKind::kArgmax), 1);
  EXPECT_EQ(count(graph, OpKind::kCrossEntropy), 0);
}

// The prefill sets the position of the next token, each decode step reads it and moves it on at its end.
TEST(Decode, ThePositionIsAVariable) {
  for (const ForwardMode mode : {ForwardMode::kPrefill, ForwardMode::kDecode}) {
    const Graph graph =
        forward_of("gpt2", {.mode = mode, .batch_size = 3, .seq_length = 1, .cache_length = 30});
    const auto positions = graph.find_tensor("positions");
    ASSERT_TRUE(positions);
    EXPECT_TRUE(graph.tensor(*positions).variable);
    EXPECT_EQ(graph.tensor(*positions).role, Role::kCounter);
    const Op& last = graph.ops().back();
    EXPECT_EQ(last.kind, mode == ForwardMode::kPrefill ? OpKind::kCopy : OpKind::kAdvance);
    EXPECT_EQ(last.outputs[0].tensor, *positions);
  }
}

TEST(Decode, SamplingTakesThePlaceOfArgmax) {
  for (const ForwardMode mode : {ForwardMode::kPrefill, ForwardMode::kDecode}) {
    ForwardOptions options{.mode = mode, .batch_size = 3, .seq_length = 1, .cache_length = 30};
    const Graph greedy = forward_of("gpt2", options);
    options.sampling = true;
    const Graph graph = forward_of("gpt2", options);
    EXPECT_EQ(count(graph, OpKind::kArgmax), 0);
    ASSERT_EQ(count(graph, OpKind::kSample), 1);
    EXPECT_EQ(graph.ops().size(), greedy.ops().size());
    const Op& sample = graph.ops()[graph.ops().size() - 2];
    EXPECT_EQ(sample.outputs[0].tensor, graph.find_tensor("next_token"));
    EXPECT_EQ(sample.attributes.integer("vocabulary"), 50257);
    EXPECT_EQ(graph.tensor(*graph.find_tensor("sampling")).role, Role::kInput);
    EXPECT_TRUE(graph.find_tensor("random"));
    EXPECT_FALSE(greedy.find_tensor("random"));
  }
}

TEST(Fp8, QuantizesBothOperandsOfEveryProductInBlocksOnly) {
  const Graph graph = forward_of("gpt2", {.seq_length = 8, .dtype = DType::kBF16, .fp8 = true});
  EXPECT_EQ(count(graph, OpKind::kQuantizeFp8),
            2 * 4 * 12);  // four linear layers per block; the head stays bf16
}

}  // namespace
}  // namespace nadi::inline describe
