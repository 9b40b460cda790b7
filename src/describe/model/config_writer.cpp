#include "nadi/model/config_writer.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"

namespace nadi::inline describe {
namespace {

// As PyTorch names it.
std::string_view torch_name(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "float32";
    case DType::kBF16:
      return "bfloat16";
    case DType::kF16:
      return "float16";
    case DType::kF8E4M3:
      return "float8_e4m3fn";
    case DType::kF8E5M2:
      return "float8_e5m2";
    case DType::kI32:
      return "int32";
    case DType::kI64:
      return "int64";
  }
  unreachable();
}

// Throws when the model differs from what transformers assumes where the file has no key.
void require(const ModelConfig& config, bool as_assumed, std::string_view what) {
  if (!as_assumed)
    throw input_error({.file = config.name}, format("a config.json of type '{}' cannot say {}",
                                                    to_string(config.architecture), what));
}

std::string_view activation_name(const ModelConfig& config) {
  switch (config.activation) {
    case Activation::kGeluTanh:
      return "gelu_new";
    case Activation::kGeluErf:
      return "gelu";
    case Activation::kNone:
      break;
  }
  require(config, false, "that there is no activation");
  unreachable();
}

// What GPT-2 and BERT assume and Llama has keys for.
void require_plain_attention(const ModelConfig& config) {
  require(config, config.kv_heads == config.heads, "that queries are grouped");
  require(config, config.head_width * config.heads == config.width, "how wide a head is");
  require(config, config.attention_bias && config.attention_output_bias && config.ffn_bias,
          "that a layer has no bias");
}

void add_gpt2(const ModelConfig& config, Json& json) {
  require_plain_attention(config);
  json["architectures"] = {"GPT2LMHeadModel"};
  json["n_positions"] = config.positions;
  json["n_embd"] = config.width;
  json["n_layer"] = config.layers;
  json["n_head"] = config.heads;
  json["n_inner"] = config.ffn_width;
  json["activation_function"] = activation_name(config);
  json["layer_norm_epsilon"] = config.norm_epsilon;
  json["embd_pdrop"] = config.embedding_dropout;
  json["attn_pdrop"] = config.attention_dropout;
  json["resid_pdrop"] = config.residual_dropout;
}

void add_sizes(const ModelConfig& config, Json& json) {
  json["hidden_size"] = config.width;
  json["intermediate_size"] = config.ffn_width;
  json["num_hidden_layers"] = config.layers;
  json["num_attention_heads"] = config.heads;
  json["max_position_embeddings"] = config.positions;
}

void add_bert(const ModelConfig& config, Json& json) {
  require_plain_attention(config);
  require(config, config.embedding_dropout == config.residual_dropout,
          "that embeddings and layers have different dropout");
  json["architectures"] = {"BertForMaskedLM"};
  add_sizes(config, json);
  json["type_vocab_size"] = config.token_types;
  json["hidden_act"] = activation_name(config);
  json["layer_norm_eps"] = config.norm_epsilon;
  json["hidden_dropout_prob"] = config.residual_dropout;
  json["attention_probs_dropout_prob"] = config.attention_dropout;
  json["position_embedding_type"] = "absolute";
}

// The keys of Llama, Mistral and Qwen2.
void add_llama_like(const ModelConfig& config, Json& json) {
  require(config, config.embedding_dropout == 0 && config.residual_dropout == 0,
          "that there is dropout outside of attention");
  add_sizes(config, json);
  json["num_key_value_heads"] = config.kv_heads;
  json["head_dim"] = config.head_width;
  json["hidden_act"] = "silu";
  json["rms_norm_eps"] = config.norm_epsilon;
  json["attention_dropout"] = config.attention_dropout;
  const RotaryFrequencies& rotary = config.rotary;
  json["rope_theta"] = rotary.theta;
  json["rope_scaling"] = nullptr;
  if (rotary.original_positions > 0)
    json["rope_scaling"] = {{"rope_type", "llama3"},
                            {"factor", rotary.factor},
                            {"low_freq_factor", rotary.low_frequency_factor},
                            {"high_freq_factor", rotary.high_frequency_factor},
                            {"original_max_position_embeddings", rotary.original_positions}};
}

void add_llama(const ModelConfig& config, Json& json) {
  require(config, config.attention_bias == config.attention_output_bias,
          "that only a part of attention has biases");
  require(config, config.attention_window == 0, "that attention has a window");
  json["architectures"] = {"LlamaForCausalLM"};
  add_llama_like(config, json);
  json["attention_bias"] = config.attention_bias;
  json["mlp_bias"] = config.ffn_bias;
}

void add_mistral(const ModelConfig& config, Json& json) {
  require(config, !config.attention_bias && !config.attention_output_bias && !config.ffn_bias,
          "that a layer has biases");
  require(config, config.first_window_layer == 0, "that only some layers have a window");
  json["architectures"] = {"MistralForCausalLM"};
  add_llama_like(config, json);
  json["sliding_window"] = nullptr;
  if (config.attention_window > 0) json["sliding_window"] = config.attention_window;
}

void add_qwen2(const ModelConfig& config, Json& json) {
  require(config, config.attention_bias && !config.attention_output_bias && !config.ffn_bias,
          "that layers other than queries, keys and values have biases, or that these have none");
  json["architectures"] = {"Qwen2ForCausalLM"};
  add_llama_like(config, json);
  const bool slides = config.attention_window > 0;
  json["use_sliding_window"] = slides;
  json["sliding_window"] = slides ? config.attention_window : config.positions;
  json["max_window_layers"] = slides ? config.first_window_layer : config.layers;
}

void add_architecture(const ModelConfig& config, Json& json) {
  switch (config.architecture) {
    case Architecture::kGpt2:
      return add_gpt2(config, json);
    case Architecture::kBert:
      return add_bert(config, json);
    case Architecture::kLlama:
      return add_llama(config, json);
    case Architecture::kMistral:
      return add_mistral(config, json);
    case Architecture::kQwen2:
      return add_qwen2(config, json);
  }
  unreachable();
}

}  // namespace

std::string config_json(const ModelConfig& config, const ConfigJsonOptions& options) {
  Json json{{"architectures", Json::array()},
            {"model_type", to_string(config.architecture)},
            {"torch_dtype", torch_name(options.dtype)},
            {"vocab_size", config.vocabulary}};
  add_architecture(config, json);
  json["initializer_range"] = config.initializer_range;
  json["tie_word_embeddings"] = config.tied_embeddings;
  if (options.begin_token) json["bos_token_id"] = *options.begin_token;
  if (options.end_token) json["eos_token_id"] = *options.end_token;
  if (options.padding_token) json["pad_token_id"] = *options.padding_token;
  return dump_json(json);
}

}  // namespace nadi::inline describe
