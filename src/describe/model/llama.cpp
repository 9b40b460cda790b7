// Llama 3.1 (Grattafiori et al. 2024): RMS norm before each half of a block, rotary positions with stretched
// frequencies, grouped queries, SwiGLU, no biases, an output layer of its own. Mistral and Qwen2 have the
// same graph; what differs is switched in ModelConfig.

#include "nadi/graph/ops/swiglu.h"
#include "nadi/model/architectures.h"
#include "nadi/model/config_keys.h"
#include "nadi/model/llama_keys.h"

namespace nadi::inline describe {
namespace {

class Llama : public Model {
 public:
  bool generates() const override { return true; }
  std::string_view word_embeddings() const override { return "model.embed_tokens.weight"; }
  TensorId embed(Layers& layers) const override {
    const auto scope = layers.builder().in_layer("model");
    return layers.word_embedding("embed_tokens");
  }

  TensorId block(Layers& layers, std::int64_t number, TensorId x) const override {
    const ModelConfig& config = layers.config();
    const auto scope = layers.builder().in_layer("model.layers." + std::to_string(number));
    {
      const TensorId normed = layers.rms_norm(x, "input_layernorm");
      const auto attn = layers.builder().in_layer("self_attn");
      const auto project = [&](const char* name, std::int64_t heads) {
        return layers.linear(normed, {.name = name,
                                      .outputs = heads * config.head_width,
                                      .bias = config.attention_bias,
                                      .split = Split::kColumns});
      };
      const TensorId q = layers.rotary(project("q_proj", config.heads));
      const TensorId k = layers.rotary(project("k_proj", config.kv_heads));
      const TensorId v = project("v_proj", config.kv_heads);
      const TensorId context = layers.attention({.q = q, .k = k, .v = v, .causal = true});
      x = layers.add(x, layers.linear(context, {.name = "o_proj",
                                                .outputs = config.width,
                                                .bias = config.attention_output_bias,
                                                .split = Split::kRows}));
    }
    {
      const TensorId normed = layers.rms_norm(x, "post_attention_layernorm");
      const auto mlp = layers.builder().in_layer("mlp");
      const LinearSpec inner{
          .name = "", .outputs = config.ffn_width, .bias = config.ffn_bias, .split = Split::kColumns};
      LinearSpec gate = inner, up = inner;
      gate.name = "gate_proj";
      up.name = "up_proj";
      const TensorId gated = swiglu(layers.builder(), layers.linear(normed, gate), layers.linear(normed, up));
      return layers.add(x, layers.linear(gated, {.name = "down_proj",
                                                 .outputs = config.width,
                                                 .bias = config.ffn_bias,
                                                 .split = Split::kRows}));
    }
  }

  void head(Layers& layers, TensorId x) const override {
    {
      const auto scope = layers.builder().in_layer("model");
      x = layers.rms_norm(layers.last_states(x), "norm");
    }
    const auto scope = layers.builder().in_layer("lm_head");
    layers.head(
        x, {.weight = layers.config().tied_embeddings ? std::string(word_embeddings()) : "lm_head.weight"});
  }
};

void read_llama_config(ConfigKeys& keys, ModelConfig& config) {
  read_llama_keys(keys, config);
  config.kv_heads = keys.integer_or("num_key_value_heads", config.heads);
  config.attention_bias = config.attention_output_bias = keys.boolean_or("attention_bias", false);
  config.ffn_bias = keys.boolean_or("mlp_bias", false);
}

}  // namespace

const Model& llama_model() {
  static const Llama kModel;
  return kModel;
}

ArchitectureEntry llama_architecture() {
  return {Architecture::kLlama, "llama", &llama_model(), read_llama_config};
}

}  // namespace nadi::inline describe
