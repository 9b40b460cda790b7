#include "nadi/megatron_checkpoint/whole_names.h"

#include "nadi/base/format.h"

namespace nadi::inline files {
namespace {

std::string bert_norm_before(std::int64_t layer) {
  return layer == 0 ? "bert.embeddings.LayerNorm"
                    : format("bert.encoder.layer.{}.output.LayerNorm", layer - 1);
}

WholeLayerNames gpt2_layer(const ModelConfig& config, std::int64_t layer) {
  const std::string prefix = format("transformer.h.{}.", layer);
  const std::int64_t queries = config.heads * config.head_width, keys = config.kv_heads * config.head_width;
  const auto linear = [&](const char* name, std::int64_t first = 0) {
    return WholeLinear{.name = prefix + name, .first_output = first, .transposed = true};
  };
  return {.input_norm = prefix + "ln_1",
          .mlp_norm = prefix + "ln_2",
          .query = linear("attn.c_attn"),
          .key = linear("attn.c_attn", queries),
          .value = linear("attn.c_attn", queries + keys),
          .proj = linear("attn.c_proj"),
          .fc1 = {linear("mlp.c_fc")},
          .fc2 = linear("mlp.c_proj")};
}

WholeLayerNames bert_layer(std::int64_t layer) {
  const std::string prefix = format("bert.encoder.layer.{}.", layer);
  return {.input_norm = bert_norm_before(layer),
          .mlp_norm = prefix + "attention.output.LayerNorm",
          .query = {.name = prefix + "attention.self.query"},
          .key = {.name = prefix + "attention.self.key"},
          .value = {.name = prefix + "attention.self.value"},
          .proj = {.name = prefix + "attention.output.dense"},
          .fc1 = {{.name = prefix + "intermediate.dense"}},
          .fc2 = {.name = prefix + "output.dense"}};
}

WholeLayerNames llama_layer(std::int64_t layer) {
  const std::string prefix = format("model.layers.{}.", layer);
  return {.input_norm = prefix + "input_layernorm",
          .mlp_norm = prefix + "post_attention_layernorm",
          .query = {.name = prefix + "self_attn.q_proj"},
          .key = {.name = prefix + "self_attn.k_proj"},
          .value = {.name = prefix + "self_attn.v_proj"},
          .proj = {.name = prefix + "self_attn.o_proj"},
          .fc1 = {{.name = prefix + "mlp.gate_proj"}, {.name = prefix + "mlp.up_proj"}},
          .fc2 = {.name = prefix + "mlp.down_proj"}};
}

}  // namespace

WholeNames whole_names(const ModelConfig& config) {
  switch (config.architecture) {
    case Architecture::kGpt2:
      return {.words = "transformer.wte.weight",
              .positions = "transformer.wpe.weight",
              .final_norm = "transformer.ln_f",
              .output = "lm_head.weight"};
    case Architecture::kBert:
      return {.words = "bert.embeddings.word_embeddings.weight",
              .positions = "bert.embeddings.position_embeddings.weight",
              .token_types = "bert.embeddings.token_type_embeddings.weight",
              .final_norm = bert_norm_before(config.layers),
              .output = "cls.predictions.decoder.weight",
              .output_bias = "cls.predictions.bias",
              .head_dense = "cls.predictions.transform.dense",
              .head_norm = "cls.predictions.transform.LayerNorm",
              .pooler = "bert.pooler.dense",
              .binary_head = "cls.seq_relationship"};
    default:  // the Llama family
      return {.words = "model.embed_tokens.weight", .final_norm = "model.norm", .output = "lm_head.weight"};
  }
}

WholeLayerNames whole_layer_names(const ModelConfig& config, std::int64_t layer) {
  switch (config.architecture) {
    case Architecture::kGpt2:
      return gpt2_layer(config, layer);
    case Architecture::kBert:
      return bert_layer(layer);
    default:
      return llama_layer(layer);
  }
}

}  // namespace nadi::inline files
