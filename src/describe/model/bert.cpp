// BERT with its masked-language-model head (Devlin et al. 2018). Norm after each half of a block, three
// embeddings added and normed, attention over all tokens that are not padding, GELU in its exact form. No
// pooler and no next-sentence head: masked-language-model training does not use them.

#include "nadi/model/architectures.h"
#include "nadi/model/config_keys.h"

namespace nadi::inline describe {
namespace {

class Bert : public Model {
 public:
  bool generates() const override { return false; }
  std::string_view word_embeddings() const override { return "bert.embeddings.word_embeddings.weight"; }
  TensorId embed(Layers& layers) const override {
    const auto scope = layers.builder().in_layer("bert.embeddings");
    TensorId x = layers.word_embedding("word_embeddings");
    x = layers.add(x, layers.token_type_embedding("token_type_embeddings"));
    x = layers.add(x, layers.position_embedding("position_embeddings"));
    x = layers.layer_norm(x, "LayerNorm");
    return layers.dropout(x, layers.config().embedding_dropout, "dropout");
  }

  TensorId block(Layers& layers, std::int64_t number, TensorId x) const override {
    const ModelConfig& config = layers.config();
    const auto scope = layers.builder().in_layer("bert.encoder.layer." + std::to_string(number));
    const std::int64_t width = config.heads * config.head_width;
    TensorId context;
    {
      const auto self = layers.builder().in_layer("attention.self");
      const TensorId q = layers.linear(x, {.name = "query", .outputs = width, .split = Split::kColumns});
      const TensorId k = layers.linear(x, {.name = "key", .outputs = width, .split = Split::kColumns});
      const TensorId v = layers.linear(x, {.name = "value", .outputs = width, .split = Split::kColumns});
      context = layers.attention({.q = q, .k = k, .v = v, .lengths = layers.lengths()});
    }
    x = half(layers, x, context, "attention.output");
    const TensorId inner = layers.linear(x, {.name = "intermediate.dense",
                                             .outputs = config.ffn_width,
                                             .split = Split::kColumns,
                                             .activation = config.activation});
    return half(layers, x, inner, "output");
  }

  void head(Layers& layers, TensorId x) const override {
    const auto scope = layers.builder().in_layer("cls.predictions");
    {
      const auto transform = layers.builder().in_layer("transform");
      x = layers.linear(
          x, {.name = "dense", .outputs = layers.config().width, .activation = layers.config().activation});
      x = layers.layer_norm(x, "LayerNorm");
    }
    const bool tied = layers.config().tied_embeddings;
    const auto decoder = layers.builder().in_layer("decoder");
    layers.head(x, {.weight = tied ? std::string(word_embeddings()) : "cls.predictions.decoder.weight",
                    .bias = "cls.predictions.bias"});
  }

 private:
  // norm(x + dropout(linear(inner)))
  static TensorId half(Layers& layers, TensorId x, TensorId inner, const char* name) {
    const auto scope = layers.builder().in_layer(name);
    const TensorId y =
        layers.linear(inner, {.name = "dense", .outputs = layers.config().width, .split = Split::kRows});
    const TensorId dropped = layers.dropout(y, layers.config().residual_dropout, "dropout");
    return layers.layer_norm(layers.add(x, dropped), "LayerNorm");
  }
};

void read_bert_config(ConfigKeys& keys, ModelConfig& config) {
  config.vocabulary = keys.integer("vocab_size");
  config.positions = keys.integer("max_position_embeddings");
  config.width = keys.integer("hidden_size");
  config.layers = keys.integer("num_hidden_layers");
  config.heads = config.kv_heads = keys.integer("num_attention_heads");
  config.ffn_width = keys.integer("intermediate_size");
  config.token_types = keys.integer_or("type_vocab_size", 2);
  config.activation = keys.activation("hidden_act", "gelu");
  config.embedding_dropout = config.residual_dropout = keys.real_or("hidden_dropout_prob", 0.1);
  config.attention_dropout = keys.real_or("attention_probs_dropout_prob", 0.1);
  config.norm_epsilon = keys.real_or("layer_norm_eps", 1e-12);
  config.initializer_range = keys.real_or("initializer_range", 0.02);
  config.tied_embeddings = keys.boolean_or("tie_word_embeddings", true);
  keys.only_text("position_embedding_type", "absolute");
  keys.only("is_decoder", false);
  keys.only("add_cross_attention", false);
}

}  // namespace

ArchitectureEntry bert_architecture() {
  static const Bert kModel;
  return {Architecture::kBert, "bert", &kModel, read_bert_config};
}

}  // namespace nadi::inline describe
