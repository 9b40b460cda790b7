// Llama 3.1 (Grattafiori et al. 2024): RMS norm before each half of a block, rotary positions with stretched
// frequencies, grouped queries, SwiGLU, no biases, an output layer of its own.

#include <array>

#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/graph/ops/swiglu.h"
#include "nadi/model/architectures.h"
#include "nadi/model/config_keys.h"

namespace nadi {
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
                                                .bias = config.attention_bias,
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

// {"rope_type": "llama3", "factor": 8.0, ...}; older files say "type", newest put rope_theta in here, too.
void read_rope(JsonValue rope, RotaryFrequencies& rotary) {
  static constexpr std::array<std::string_view, 7> kKeys{
      "rope_type",        "type",
      "factor",           "low_freq_factor",
      "high_freq_factor", "original_max_position_embeddings",
      "rope_theta"};
  rope.refuse_keys_except(kKeys);
  if (const auto theta = rope.find("rope_theta")) rotary.theta = theta->as_double();
  const auto type = rope.has("rope_type") ? rope.find("rope_type") : rope.find("type");
  if (!type || type->as_string() == "default") return;
  static constexpr std::array<std::string_view, 2> kTypes{"default", "llama3"};
  if (type->as_string() != "llama3")
    throw error_at(*type, format("unknown rope_type '{}'", type->as_string()),
                   did_you_mean(type->as_string(), kTypes));
  rotary.factor = rope.at("factor").as_double();
  rotary.low_frequency_factor = rope.at("low_freq_factor").as_double();
  rotary.high_frequency_factor = rope.at("high_freq_factor").as_double();
  rotary.original_positions = rope.at("original_max_position_embeddings").as_int64();
  if (rotary.factor <= 0 || rotary.original_positions < 1 ||
      !(rotary.high_frequency_factor > rotary.low_frequency_factor) || rotary.low_frequency_factor <= 0)
    throw error_at(rope, "the numbers of this scaling do not make sense",
                   "factor and original_max_position_embeddings must be positive, "
                   "high_freq_factor above low_freq_factor above 0");
}

void read_llama_config(ConfigKeys& keys, ModelConfig& config) {
  config.vocabulary = keys.integer("vocab_size");
  config.positions = keys.integer("max_position_embeddings");
  config.width = keys.integer("hidden_size");
  config.layers = keys.integer("num_hidden_layers");
  config.heads = keys.integer("num_attention_heads");
  config.kv_heads = keys.integer_or("num_key_value_heads", config.heads);
  config.head_width = keys.integer_or("head_dim", 0);
  config.ffn_width = keys.integer("intermediate_size");
  config.attention_dropout = keys.real_or("attention_dropout", 0);
  config.norm_epsilon = keys.real_or("rms_norm_eps", 1e-6);
  config.initializer_range = keys.real_or("initializer_range", 0.02);
  config.tied_embeddings = keys.boolean_or("tie_word_embeddings", false);
  config.attention_bias = keys.boolean_or("attention_bias", false);
  config.ffn_bias = keys.boolean_or("mlp_bias", false);
  config.rotary.theta = keys.real_or("rope_theta", 10000);
  for (const char* key : {"rope_scaling", "rope_parameters"})
    if (const auto rope = keys.object(key)) read_rope(*rope, config.rotary);
  keys.only_text("hidden_act", "silu");
}

}  // namespace

ArchitectureEntry llama_architecture() {
  static const Llama kModel;
  return {Architecture::kLlama, "llama", &kModel, read_llama_config};
}

}  // namespace nadi
