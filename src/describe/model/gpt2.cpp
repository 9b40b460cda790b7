// GPT-2 and GPT-3 (Radford et al. 2019, Brown et al. 2020). Norm before each half of a block, learned
// positions, biases everywhere, output layer tied to the word embeddings. Linear layers are stored [in, out].
// GPT-3's alternating sparse attention is built dense, as all public reimplementations do.

#include <cmath>

#include "nadi/model/architectures.h"
#include "nadi/model/config_keys.h"

namespace nadi::inline describe {
namespace {

class Gpt2 : public Model {
 public:
  bool generates() const override { return true; }
  std::string_view word_embeddings() const override { return "transformer.wte.weight"; }
  TensorId embed(Layers& layers) const override {
    const auto scope = layers.builder().in_layer("transformer");
    const TensorId words = layers.word_embedding("wte");
    const TensorId x = layers.add(words, layers.position_embedding("wpe"));
    return layers.dropout(x, layers.config().embedding_dropout, "drop");
  }

  TensorId block(Layers& layers, std::int64_t number, TensorId x) const override {
    const ModelConfig& config = layers.config();
    const auto scope = layers.builder().in_layer("transformer.h." + std::to_string(number));
    // Projections onto the residual stream start smaller, so that its variance does not grow with depth.
    const double projection = config.initializer_range / std::sqrt(2.0 * static_cast<double>(config.layers));
    {
      const TensorId normed = layers.layer_norm(x, "ln_1");
      const auto attn = layers.builder().in_layer("attn");
      const std::int64_t q_width = config.heads * config.head_width;
      const std::int64_t kv_width = config.kv_heads * config.head_width;
      const TensorId qkv = layers.linear(normed, {.name = "c_attn",
                                                  .outputs = q_width + 2 * kv_width,
                                                  .weight_is_out_in = false,
                                                  .split = Split::kColumns,
                                                  .segments = {q_width, kv_width, kv_width}});
      const TensorId context = layers.attention({.q = qkv, .causal = true});
      const TensorId y = layers.linear(context, {.name = "c_proj",
                                                 .outputs = config.width,
                                                 .weight_is_out_in = false,
                                                 .split = Split::kRows,
                                                 .deviation = projection});
      x = layers.add(x, layers.dropout(y, config.residual_dropout, "resid_dropout"));
    }
    {
      const TensorId normed = layers.layer_norm(x, "ln_2");
      const auto mlp = layers.builder().in_layer("mlp");
      const TensorId inner = layers.linear(normed, {.name = "c_fc",
                                                    .outputs = config.ffn_width,
                                                    .weight_is_out_in = false,
                                                    .split = Split::kColumns,
                                                    .activation = config.activation});
      const TensorId y = layers.linear(inner, {.name = "c_proj",
                                               .outputs = config.width,
                                               .weight_is_out_in = false,
                                               .split = Split::kRows,
                                               .deviation = projection});
      return layers.add(x, layers.dropout(y, config.residual_dropout, "dropout"));
    }
  }

  void head(Layers& layers, TensorId x) const override {
    {
      const auto scope = layers.builder().in_layer("transformer");
      x = layers.layer_norm(layers.last_states(x), "ln_f");
    }
    const auto scope = layers.builder().in_layer("lm_head");
    layers.head(
        x, {.weight = layers.config().tied_embeddings ? std::string(word_embeddings()) : "lm_head.weight"});
  }
};

void read_gpt2_config(ConfigKeys& keys, ModelConfig& config) {
  config.vocabulary = keys.integer("vocab_size");
  config.positions = keys.integer("n_positions");
  config.width = keys.integer("n_embd");
  config.layers = keys.integer("n_layer");
  config.heads = config.kv_heads = keys.integer("n_head");
  config.ffn_width = keys.integer_or("n_inner", 4 * config.width);
  config.activation = keys.activation("activation_function", "gelu_new");
  config.embedding_dropout = keys.real_or("embd_pdrop", 0.1);
  config.attention_dropout = keys.real_or("attn_pdrop", 0.1);
  config.residual_dropout = keys.real_or("resid_pdrop", 0.1);
  config.norm_epsilon = keys.real_or("layer_norm_epsilon", 1e-5);
  config.initializer_range = keys.real_or("initializer_range", 0.02);
  config.tied_embeddings = keys.boolean_or("tie_word_embeddings", true);
  keys.only("scale_attn_weights", true);
  keys.only("scale_attn_by_inverse_layer_idx", false);
  keys.only("add_cross_attention", false);
  keys.boolean_or("reorder_and_upcast_attn", false);  // how to compute, not what
}

}  // namespace

ArchitectureEntry gpt2_architecture() {
  static const Gpt2 kModel;
  return {Architecture::kGpt2, "gpt2", &kModel, read_gpt2_config};
}

}  // namespace nadi::inline describe
