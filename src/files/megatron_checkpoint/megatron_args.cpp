#include "nadi/megatron_checkpoint/megatron_args.h"

#include <array>
#include <cmath>
#include <cstring>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/model/config_file.h"

namespace nadi::inline files {
namespace {

// Megatron's one kind of scaling of rotary frequencies, whose numbers are constants in its source.
constexpr double kScalingLowFactor = 1, kScalingHighFactor = 4;
constexpr std::int64_t kScalingPositions = 8192;

// Arguments that may be missing, or None.
class ArgumentReader {
 public:
  explicit ArgumentReader(const std::optional<PickleValue>& args) : args_(args) {}

  std::optional<PickleValue> find(std::string_view name) const {
    if (!args_) return std::nullopt;
    const std::optional<PickleValue> value = args_->find(name);
    return value && !value->is_none() ? value : std::nullopt;
  }
  std::int64_t integer_or(std::string_view name, std::int64_t fallback) const {
    const auto value = find(name);
    return value ? value->as_int64() : fallback;
  }
  double real_or(std::string_view name, double fallback) const {
    const auto value = find(name);
    return value ? value->as_double() : fallback;
  }
  bool boolean_or(std::string_view name, bool fallback) const {
    const auto value = find(name);
    return value ? value->as_bool() : fallback;
  }
  // Refuses what makes another model than those that Nadi builds.
  void only(std::string_view name, bool supported) const {
    const auto value = find(name);
    if (value && value->is_bool() && value->as_bool() != supported)
      throw error_at(*value, format("Nadi has no model with {} = {}", name, supported ? "False" : "True"));
  }

 private:
  const std::optional<PickleValue>& args_;
};

void refuse_unsupported(const ArgumentReader& args) {
  for (const char* name : {"squared_relu", "apply_layernorm_1p", "multi_latent_attention",
                           "rotary_interleaved", "is_hybrid_model"})
    args.only(name, false);
  if (const auto experts = args.find("num_experts"); experts && experts->as_int64() > 0)
    throw error_at(*experts, format("Nadi has no model with experts; this one has {}", experts->as_int64()));
  if (const auto percent = args.find("rotary_percent"); percent && percent->as_double() != 1)
    throw error_at(*percent,
                   format("rotary positions on a part of each head only ({}): Nadi has no such model",
                          percent->as_double()));
}

Architecture architecture_of(const MegatronFacts& facts, const std::string& file) {
  const bool gated = facts.fc1_rows == 2 * facts.ffn_width;
  const bool learned = facts.positions > 0;
  if (facts.encoder) {
    for (const Architecture& architecture : architectures())
      if (architecture->masked()) return architecture;
  }
  const Architecture* const found = find_architecture(
      {.rotary = !learned,
       .norm = facts.norm_bias ? NormKind::kLayer : NormKind::kRms,
       .gated = gated,
       .head_norms = facts.head_norms},
      {.attention = facts.qkv_bias, .attention_output = facts.attention_output_bias, .ffn = facts.ffn_bias});
  if (found != nullptr) return *found;
  throw input_error(
      {.file = file},
      format("Nadi has no model with {} positions, norms {} bias{} and {} feed-forward layer",
             learned ? "learned" : "rotary", facts.norm_bias ? "with" : "without",
             facts.head_norms ? ", norms of queries and keys" : "", gated ? "a gated" : "an ungated"));
}

void read_dimensions(const ArgumentReader& args, const MegatronFacts& facts, const std::string& file,
                     ModelConfig& config) {
  const auto heads = args.find("num_attention_heads");
  if (!heads)
    throw input_error({.file = file},
                      "neither 'args' nor the tensors say how many attention heads the model has",
                      "give the model's configuration");
  config.layers = facts.layers;
  config.width = facts.width;
  config.ffn_width = facts.ffn_width;
  config.token_types = facts.token_types;
  config.heads = heads->as_int64();
  if (config.heads < 1) throw error_at(*heads, "a model has attention heads");
  config.head_width = args.integer_or("kv_channels", config.width / config.heads);
  config.kv_heads = args.boolean_or("group_query_attention", false)
                        ? args.integer_or("num_query_groups", config.heads)
                        : config.heads;
  config.positions = facts.positions > 0
                         ? facts.positions
                         : args.integer_or("max_position_embeddings", args.integer_or("seq_length", 0));
  // Without a vocabulary in `args`, the padding of the vocabulary cannot be told from the rest.
  config.vocabulary = args.integer_or("vocab_size", facts.padded_vocabulary);
  const auto tokenizer = args.find("tokenizer_type");
  if (tokenizer && tokenizer->as_text() == kNullTokenizer && args.find("vocab_size"))
    ++config.vocabulary;  // that tokenizer adds an end of document
  if (config.vocabulary > facts.padded_vocabulary) config.vocabulary = facts.padded_vocabulary;
}

void read_numbers(const ArgumentReader& args, ModelConfig& config) {
  // The fused kernel approximates GELU by tanh; without it GELU is exact.
  const bool by_tanh = args.boolean_or("bias_gelu_fusion", false) || args.boolean_or("openai_gelu", false);
  config.activation = by_tanh ? Activation::kGeluTanh : Activation::kGeluErf;
  config.norm_epsilon = args.real_or("norm_epsilon", 1e-5);
  config.initializer_range = args.real_or("init_method_std", 0.02);
  config.attention_dropout = args.real_or("attention_dropout", 0);
  if (config.architecture->hidden_dropout())
    config.embedding_dropout = config.residual_dropout = args.real_or("hidden_dropout", 0);
  if (!config.architecture->rotary()) return;
  config.rotary.theta = args.real_or("rotary_base", 10000);
  if (args.boolean_or("use_rope_scaling", false)) {
    config.rotary.factor = args.real_or("rope_scaling_factor", 8);
    config.rotary.low_frequency_factor = kScalingLowFactor;
    config.rotary.high_frequency_factor = kScalingHighFactor;
    config.rotary.original_positions = kScalingPositions;
  }
}

void require_equal(std::string_view what, std::int64_t configured, std::int64_t stored,
                   const std::string& file) {
  if (configured != stored)
    throw input_error({.file = file},
                      format("the configuration has {} {}, the tensors have {}", configured, what, stored),
                      "the configuration is of another model");
}

// A single f32 number that is stored as a tensor.
double number_in(PickleValue value, std::string_view what) {
  const TorchTensor& tensor = value.as_tensor();
  if (tensor.dtype != FileDType::kF32 || tensor.shape.elements() != 1)
    throw error_at(value, format("{} is one f32 number", what));
  std::array<std::byte, sizeof(float)> bytes;
  tensor.read(bytes);
  float number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

// The last number of updates: in the groups (Apex, Transformer Engine, the distributed optimizer), or with
// each parameter (PyTorch).
std::int64_t updates_of(PickleValue optimizer) {
  const std::vector<PickleValue> groups = optimizer.at("param_groups").elements();
  if (!groups.empty())
    if (const auto step = groups.front().find("step")) return static_cast<std::int64_t>(step->as_double());
  const auto states = optimizer.find("state");
  if (!states) return 0;
  if (const auto step = states->find("common_step"))
    return static_cast<std::int64_t>(step->is_tensor() ? number_in(*step, "the number of updates")
                                                       : step->as_double());
  for (const PickleItem& item : states->items()) {
    const auto step = item.value.find("step");
    if (!step) return 0;
    if (!step->is_tensor()) return static_cast<std::int64_t>(step->as_double());
    const double updates = number_in(*step, "the number of updates");
    if (!std::isfinite(updates) || updates < 0) throw error_at(*step, "the number of updates is not a count");
    return static_cast<std::int64_t>(updates);
  }
  return 0;
}

AdamNumbers adam_of(PickleValue optimizer) {
  AdamNumbers adam{.updates = updates_of(optimizer)};
  for (const PickleValue& group : optimizer.at("param_groups").elements()) {
    if (const auto rate = group.find("lr")) adam.rate = rate->as_double();
    if (const auto betas = group.find("betas")) {
      adam.beta1 = betas->element(0).as_double();
      adam.beta2 = betas->element(1).as_double();
    }
    if (const auto epsilon = group.find("eps")) adam.epsilon = epsilon->as_double();
    const auto factor = group.find("wd_mult");
    if (const auto decay = group.find("weight_decay"); decay && (!factor || factor->as_double() > 0))
      adam.weight_decay = decay->as_double();
  }
  return adam;
}

ScheduleNumbers schedule_of(PickleValue scheduler) {
  return {.max_rate = scheduler.at("max_lr").as_double(),
          .min_rate = scheduler.at("min_lr").as_double(),
          .decay = std::string(scheduler.at("lr_decay_style").as_text()),
          .warmup_samples = scheduler.at("lr_warmup_steps").as_int64(),
          .decay_samples = scheduler.at("lr_decay_steps").as_int64(),
          .samples_done = scheduler.at("num_steps").as_int64(),
          .start_weight_decay = scheduler.at("start_wd").as_double(),
          .end_weight_decay = scheduler.at("end_wd").as_double(),
          .weight_decay_growth = std::string(scheduler.at("wd_incr_style").as_text()),
          .weight_decay_samples = scheduler.at("wd_incr_steps").as_int64()};
}

}  // namespace

ModelConfig config_of(const std::optional<PickleValue>& args, const MegatronFacts& facts,
                      const std::string& file) {
  const ArgumentReader reader(args);
  ModelConfig config;
  if (const auto text = reader.find(kNadiConfig)) {
    config = parse_model_config(std::string(text->as_text()), file + ": args/" + std::string(kNadiConfig));
  } else {
    refuse_unsupported(reader);
    config.name = file;
    config.architecture = architecture_of(facts, file);
    read_dimensions(reader, facts, file, config);
    read_numbers(reader, config);
    config.attention_bias = facts.qkv_bias;
    config.attention_output_bias = facts.attention_output_bias;
    config.ffn_bias = facts.ffn_bias;
    config.tied_embeddings =
        !reader.boolean_or("untie_embeddings_and_output_weights", facts.own_output_layer);
    check_config(config, file);
  }
  require_fits(config, facts, file);
  return config;
}

void require_fits(const ModelConfig& config, const MegatronFacts& facts, const std::string& file) {
  for (const std::int64_t number : {config.heads, config.kv_heads, config.head_width})
    if (number < 1 || number > facts.qkv_rows)
      throw input_error({.file = file},
                        format("{} heads, {} groups and heads of {} columns do not make {} rows",
                               config.heads, config.kv_heads, config.head_width, facts.qkv_rows));
  require_equal("layers", config.layers, facts.layers, file);
  require_equal("columns", config.width, facts.width, file);
  require_equal("columns of the feed-forward layer", config.ffn_width, facts.ffn_width, file);
  require_equal("rows of queries, keys and values", (config.heads + 2 * config.kv_heads) * config.head_width,
                facts.qkv_rows, file);
  if (facts.positions > 0) require_equal("positions", config.positions, facts.positions, file);
  if (config.architecture->masked() != facts.encoder)
    throw input_error({.file = file},
                      format("the configuration is of a '{}', the tensors are {} of an encoder",
                             to_string(config.architecture), facts.encoder ? "those" : "not those"));
  if (config.vocabulary > facts.padded_vocabulary)
    throw input_error({.file = file},
                      format("the configuration has a vocabulary of {}, the tensors have {} rows",
                             config.vocabulary, facts.padded_vocabulary));
}

TrainingProgress progress_of(PickleValue root) {
  TrainingProgress progress;
  if (const auto iteration = root.find("iteration")) progress.iteration = iteration->as_int64();
  if (const auto args = root.find("args")) {
    if (const auto samples = args->find("consumed_train_samples"); samples && samples->is_int())
      progress.samples = samples->as_int64();
    for (const char* name : {"seed", "global_batch_size", "micro_batch_size", "seq_length", "train_iters",
                             "lr", "min_lr", "lr_warmup_iters", "lr_decay_iters", "weight_decay",
                             "adam_beta1", "adam_beta2", "adam_eps", "clip_grad", "data_parallel_size",
                             "skipped_train_samples", "consumed_valid_samples", "train_samples"})
      if (const auto value = args->find(name); value && (value->is_int() || value->is_float()))
        progress.settings[name] = value->as_double();
    for (const char* name : {"tokenizer_type", "tokenizer_model"})
      if (const auto value = args->find(name); value && value->is_text())
        progress.texts[name] = std::string(value->as_text());
  }
  if (const auto outer = root.find("optimizer"); outer && outer->is_dict()) {
    const PickleValue optimizer = outer->has("optimizer") ? outer->at("optimizer") : *outer;
    if (optimizer.has("param_groups")) progress.adam = adam_of(optimizer);
    if (const auto scaler = outer->find("grad_scaler"))
      if (const auto scale = scaler->find("scale")) progress.loss_scale = number_in(*scale, "the loss scale");
  }
  if (const auto scheduler = root.find("opt_param_scheduler"); scheduler && scheduler->is_dict())
    progress.schedule = schedule_of(*scheduler);
  return progress;
}

}  // namespace nadi::inline files
