#include "nadi/model/config_keys.h"

#include <algorithm>
#include <array>

#include "nadi/base/format.h"
#include "nadi/base/nearest.h"

namespace nadi::inline describe {
namespace {

// Written by Hugging Face into every configuration and without effect on what a step computes.
constexpr std::array<std::string_view, 40> kWithoutEffect{"_attn_implementation_autoset",
                                                          "_name_or_path",
                                                          "_num_labels",
                                                          "add_cross_attention",
                                                          "architectures",
                                                          "auto_map",
                                                          "bos_token_id",
                                                          "chunk_size_feed_forward",
                                                          "classifier_dropout",
                                                          "decoder_start_token_id",
                                                          "dtype",
                                                          "eos_token_id",
                                                          "finetuning_task",
                                                          "gradient_checkpointing",
                                                          "id2label",
                                                          "is_decoder",
                                                          "is_encoder_decoder",
                                                          "label2id",
                                                          "license",
                                                          "model_type",
                                                          "n_ctx",
                                                          "output_attentions",
                                                          "output_hidden_states",
                                                          "output_past",
                                                          "pad_token_id",
                                                          "pretraining_tp",
                                                          "problem_type",
                                                          "return_dict",
                                                          "sep_token_id",
                                                          "summary_activation",
                                                          "summary_first_dropout",
                                                          "summary_proj_to_labels",
                                                          "summary_type",
                                                          "summary_use_proj",
                                                          "task_specific_params",
                                                          "tokenizer_class",
                                                          "torch_dtype",
                                                          "torchscript",
                                                          "transformers_version",
                                                          "use_cache"};

}  // namespace

std::optional<JsonValue> ConfigKeys::present(std::string_view key) {
  asked_.emplace(key);
  const std::optional<JsonValue> found = object_.find(key);
  if (found && found->is_null()) return std::nullopt;
  return found;
}

std::int64_t ConfigKeys::integer(std::string_view key) {
  asked_.emplace(key);
  return object_.at(key).as_int64();
}

std::int64_t ConfigKeys::integer_or(std::string_view key, std::int64_t fallback) {
  const auto found = present(key);
  return found ? found->as_int64() : fallback;
}

double ConfigKeys::real_or(std::string_view key, double fallback) {
  const auto found = present(key);
  return found ? found->as_double() : fallback;
}

bool ConfigKeys::boolean_or(std::string_view key, bool fallback) {
  const auto found = present(key);
  return found ? found->as_bool() : fallback;
}

std::string ConfigKeys::text_or(std::string_view key, std::string fallback) {
  const auto found = present(key);
  return found ? found->as_string() : std::move(fallback);
}

std::vector<std::int64_t> ConfigKeys::integers_or_none(std::string_view key) {
  std::vector<std::int64_t> numbers;
  if (const auto found = present(key))
    for (const JsonValue& element : found->elements()) numbers.push_back(element.as_int64());
  return numbers;
}

std::optional<JsonValue> ConfigKeys::object(std::string_view key) {
  return present(key);
}

void ConfigKeys::only(std::string_view key, bool supported) {
  if (boolean_or(key, supported) != supported)
    throw error_at(object_.at(key), format("Nadi builds this model only with {} = {}", key, supported));
}

void ConfigKeys::only_text(std::string_view key, std::string_view supported) {
  if (text_or(key, std::string(supported)) != supported)
    throw error_at(object_.at(key), format("Nadi builds this model only with {} = '{}'", key, supported));
}

Activation ConfigKeys::activation(std::string_view key, std::string_view fallback) {
  const std::string name = text_or(key, std::string(fallback));
  // Hugging Face has several names for the tanh form.
  for (const std::string_view tanh_form : {"gelu_new", "gelu_pytorch_tanh", "gelu_fast"})
    if (name == tanh_form) return Activation::kGeluTanh;
  if (name == "gelu") return Activation::kGeluErf;
  static constexpr std::array<std::string_view, 4> kKnown{"gelu", "gelu_new", "gelu_pytorch_tanh",
                                                          "gelu_fast"};
  throw error_at(object_.at(key), format("unknown {} '{}'", key, name), did_you_mean(name, kKnown));
}

std::vector<std::string> ConfigKeys::unused() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object_.items())
    if (!asked_.contains(key) && std::ranges::find(kWithoutEffect, key) == kWithoutEffect.end())
      keys.emplace_back(key);
  return keys;
}

}  // namespace nadi::inline describe
