#include "nadi/megatron_checkpoint/megatron_args_writer.h"

#include <algorithm>
#include <cmath>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/megatron_checkpoint/megatron_args.h"
#include "nadi/model/config_writer.h"

namespace nadi::inline files {
namespace {

// Sets attributes one after another.
class ArgumentWriter {
 public:
  explicit ArgumentWriter(PickleArena& values)
      : values_(values), namespace_(values.new_object({"argparse", "Namespace"}, values.tuple())) {}

  void set(std::string_view name, PickleValue value) { values_.set_attribute(namespace_, name, value); }
  void integer(std::string_view name, std::int64_t value) { set(name, values_.integer(value)); }
  void real(std::string_view name, double value) { set(name, values_.real(value)); }
  void boolean(std::string_view name, bool value) { set(name, values_.boolean(value)); }
  void text(std::string_view name, std::string_view value) { set(name, values_.text(value)); }
  void none(std::string_view name) { set(name, values_.none()); }
  // As the command line has it: whole where it is whole.
  void number(std::string_view name, double value) {
    constexpr double kExact = 9007199254740992.0;  // 2^53
    if (value == std::floor(value) && std::abs(value) < kExact)
      integer(name, static_cast<std::int64_t>(value));
    else
      real(name, value);
  }

  PickleValue take() const { return namespace_; }

 private:
  PickleArena& values_;
  PickleValue namespace_;
};

bool is_scaled(const RotaryFrequencies& rotary) {
  return rotary.original_positions > 0 && rotary.factor != 1;
}

// Megatron has the numbers of Llama 3.1 in its source.
bool has_megatron_scaling(const RotaryFrequencies& rotary) {
  return rotary.low_frequency_factor == 1 && rotary.high_frequency_factor == 4 &&
         rotary.original_positions == 8192;
}

// The partition as Megatron's flags have it: a first and a last stage of their own, all others alike.
struct PartitionFlags {
  std::optional<std::int64_t> first = {}, last = {};
  bool expressible = true;
};
PartitionFlags partition_flags(const MegatronSplit& split) {
  const std::vector<std::int64_t>& parts = split.partition;
  if (std::ranges::all_of(parts, [&](std::int64_t layers) { return layers == parts.front(); })) return {};
  PartitionFlags flags{.first = parts.front(), .last = parts.back()};
  flags.expressible =
      split.virtual_stages == 1 && parts.size() > 1 && parts.front() > 0 && parts.back() > 0 &&
      (parts.size() == 2 || std::all_of(parts.begin() + 1, parts.end() - 1,
                                        [&](std::int64_t layers) { return layers == parts[1]; }));
  return flags;
}

void write_model(ArgumentWriter& args, const ModelConfig& config) {
  const ArchitectureDescription& architecture = *config.architecture;
  const bool rotary = architecture.rotary();
  args.integer("num_layers", config.layers);
  args.integer("encoder_num_layers", config.layers);
  args.none("decoder_num_layers");
  args.integer("hidden_size", config.width);
  args.integer("ffn_hidden_size", config.ffn_width);
  args.integer("num_attention_heads", config.heads);
  args.integer("kv_channels", config.head_width);
  args.boolean("group_query_attention", config.kv_heads != config.heads);
  args.integer("num_query_groups", config.kv_heads == config.heads ? 1 : config.kv_heads);
  args.integer("max_position_embeddings", config.positions);
  args.text("position_embedding_type", rotary ? "rope" : "learned_absolute");
  args.boolean("use_rotary_position_embeddings", false);
  args.number("rotary_base", config.rotary.theta);
  args.real("rotary_percent", 1);
  args.boolean("rotary_interleaved", false);
  args.none("rotary_seq_len_interpolation_factor");
  args.boolean("use_rope_scaling", rotary && is_scaled(config.rotary));
  args.real("rope_scaling_factor", is_scaled(config.rotary) ? config.rotary.factor : 8);
  args.boolean("add_position_embedding", true);
  args.text("normalization", architecture.norm == NormKind::kRms ? "RMSNorm" : "LayerNorm");
  args.real("norm_epsilon", config.norm_epsilon);
  args.boolean("apply_layernorm_1p", false);
  args.boolean("apply_residual_connection_post_layernorm", architecture.norms_after());
  args.boolean("openai_gelu", false);
  args.boolean("squared_relu", false);
  args.boolean("swiglu", architecture.gated());
  args.boolean("bias_gelu_fusion",
               architecture.uses_activation() && config.activation == Activation::kGeluTanh);
  args.boolean("untie_embeddings_and_output_weights", !config.tied_embeddings);
  const bool biases = config.attention_output_bias && config.ffn_bias;
  args.boolean("add_bias_linear", biases);
  args.boolean("add_qkv_bias", config.attention_bias && !biases);
  args.boolean("qk_layernorm", architecture.head_norms());
  args.boolean("multi_latent_attention", false);
  args.none("num_experts");
  args.real("attention_dropout", config.attention_dropout);
  args.real("hidden_dropout", config.residual_dropout);
  args.real("init_method_std", config.initializer_range);
}

void write_split(ArgumentWriter& args, const MegatronSplit& split) {
  const PartitionFlags partition = partition_flags(split);
  args.integer("tensor_model_parallel_size", split.tp);
  args.integer("pipeline_model_parallel_size", split.pp);
  args.integer("transformer_pipeline_model_parallel_size", split.pp);
  for (const auto& [name, layers] : {std::pair("decoder_first_pipeline_num_layers", partition.first),
                                     std::pair("decoder_last_pipeline_num_layers", partition.last)}) {
    if (layers)
      args.integer(name, *layers);
    else
      args.none(name);
  }
  if (split.virtual_stages > 1) {
    args.integer("num_layers_per_virtual_pipeline_stage", split.partition.front());
    args.integer("virtual_pipeline_model_parallel_size", split.virtual_stages);
  } else {
    args.none("num_layers_per_virtual_pipeline_stage");
    args.none("virtual_pipeline_model_parallel_size");
  }
  args.integer("expert_model_parallel_size", 1);
  args.integer("context_parallel_size", 1);
  args.integer("data_parallel_size", 1);
  args.integer("world_size", split.tp * split.pp);
  args.text("transformer_impl", to_string(split.naming));
}

// Megatron compares the kind of tokenizer wherever it is given a vocabulary, so that there must be one.
void write_vocabulary(ArgumentWriter& args, const ShardLayout& layout, const MegatronTarget& target,
                      const TrainingProgress& progress) {
  const ModelConfig& config = layout.config();
  const auto text = [&](const char* name, const std::string& given, const std::string& otherwise) {
    if (!given.empty()) return given;
    const auto found = progress.texts.find(name);
    return found == progress.texts.end() ? otherwise : found->second;
  };
  const std::string type =
      text("tokenizer_type", target.tokenizer_type, config.architecture->megatron->tokenizer);
  const std::string model = text("tokenizer_model", target.tokenizer_model, "");
  args.integer("make_vocab_size_divisible_by", 128);
  // The tokenizer that is none counts an end of document besides its vocabulary.
  args.integer("vocab_size", config.vocabulary - (type == kNullTokenizer ? 1 : 0));
  args.integer("padded_vocab_size", layout.split().padded_vocabulary);
  args.none("vocab_file");
  args.text("tokenizer_type", type);
  if (model.empty())
    args.none("tokenizer_model");
  else
    args.text("tokenizer_model", model);
}

void write_training(ArgumentWriter& args, const MegatronTarget& target, const TrainingProgress& progress,
                    std::int64_t positions) {
  const auto setting = [&](const char* name) -> std::optional<double> {
    const auto found = progress.settings.find(name);
    return found == progress.settings.end() ? std::nullopt : std::optional(found->second);
  };
  std::int64_t length = target.sequence_length;
  if (length == 0)
    length = static_cast<std::int64_t>(setting("seq_length").value_or(static_cast<double>(positions)));
  args.integer("seq_length", length);
  args.integer("encoder_seq_length", length);
  for (const char* name : {"seed", "global_batch_size", "micro_batch_size", "train_iters", "train_samples",
                           "lr", "min_lr", "lr_warmup_iters", "lr_decay_iters", "clip_grad"})
    if (const auto value = setting(name)) args.number(name, *value);
  if (progress.adam) {
    args.text("optimizer", "adam");
    args.real("adam_beta1", progress.adam->beta1);
    args.real("adam_beta2", progress.adam->beta2);
    args.real("adam_eps", progress.adam->epsilon);
    args.real("weight_decay", progress.adam->weight_decay);
  }
  args.integer("consumed_train_samples", progress.samples);
  args.number("skipped_train_samples", setting("skipped_train_samples").value_or(0));
  args.number("consumed_valid_samples", setting("consumed_valid_samples").value_or(0));
  args.integer("iteration", target.iteration);
  args.boolean("no_save_optim", !target.optimizer);
  args.boolean("no_save_rng", true);
  args.boolean("use_distributed_optimizer", target.optimizer && target.distributed_optimizer);
  args.boolean("overlap_grad_reduce", false);
}

}  // namespace

std::vector<std::string> megatron_notes(const ShardLayout& layout, const MegatronTarget& target) {
  const ModelConfig& config = layout.config();
  std::vector<std::string> notes;
  if (config.architecture->rotary()) {
    notes.push_back(
        format("Megatron-LM does not take the norm's epsilon from a checkpoint: give it --norm-epsilon {}",
               config.norm_epsilon));
    if (is_scaled(config.rotary) && !has_megatron_scaling(config.rotary))
      notes.push_back(
          "Megatron-LM cannot scale rotary frequencies as this model does: long sequences will differ");
    else if (is_scaled(config.rotary))
      notes.push_back(
          format("Megatron-LM does not take the scaling of rotary frequencies from a checkpoint: give it "
                 "--use-rope-scaling --rope-scaling-factor {}",
                 config.rotary.factor));
    if (config.attention_output_bias != config.ffn_bias)
      notes.push_back(
          "Megatron-LM has biases of linear layers everywhere or nowhere: it cannot load this model");
  }
  if (config.architecture->norms_after())
    notes.push_back(format(
        "layers of Megatron Core put {}'s norms before each half of a block: the tensors are right, but "
        "only Megatron's legacy layers compute the same function of them",
        config.architecture->title));
  if (!partition_flags(layout.split()).expressible)
    notes.push_back("Megatron-LM has no flags for this partition of layers: its own versions cannot load it");
  if (target.optimizer)
    notes.push_back("there are no states of random numbers: give Megatron-LM --no-load-rng");
  return notes;
}

PickleValue megatron_args(PickleArena& values, const ShardLayout& layout, const MegatronTarget& target,
                          const std::optional<TrainingProgress>& progress) {
  const ModelConfig& config = layout.config();
  ArgumentWriter args(values);
  write_model(args, config);
  write_split(args, layout.split());
  if (!config.architecture->megatron->binary_head.empty())
    args.boolean("bert_binary_head", layout.split().bert_binary_head);
  args.boolean("fp16", target.dtype == FileDType::kF16);
  args.boolean("bf16", target.dtype == FileDType::kBF16);
  args.set("params_dtype", values.dtype(target.dtype));
  write_vocabulary(args, layout, target, progress.value_or(TrainingProgress{}));
  args.text("ckpt_format", target.format);
  write_training(args, target, progress.value_or(TrainingProgress{}), config.positions);
  const DType dtype = target.dtype == FileDType::kF32   ? DType::kF32
                      : target.dtype == FileDType::kF16 ? DType::kF16
                                                        : DType::kBF16;
  args.text(kNadiConfig, config_json(config, {.dtype = dtype}));
  return args.take();
}

PickleValue megatron_scheduler(PickleArena& values, const TrainingProgress& progress) {
  ScheduleNumbers schedule;
  if (progress.schedule) {
    schedule = *progress.schedule;
  } else {
    const AdamNumbers adam = progress.adam.value_or(AdamNumbers{});
    schedule = {.max_rate = adam.rate,
                .min_rate = adam.rate,
                .decay = "constant",
                .warmup_samples = 0,
                .decay_samples = std::max<std::int64_t>(1, progress.samples),
                .samples_done = progress.samples,
                .start_weight_decay = adam.weight_decay,
                .end_weight_decay = adam.weight_decay,
                .weight_decay_growth = "constant",
                .weight_decay_samples = std::max<std::int64_t>(1, progress.samples)};
  }
  const PickleValue dict = values.dict();
  values.set(dict, "max_lr", values.real(schedule.max_rate));
  values.set(dict, "lr_warmup_steps", values.integer(schedule.warmup_samples));
  values.set(dict, "num_steps", values.integer(schedule.samples_done));
  values.set(dict, "lr_decay_style", values.text(schedule.decay));
  values.set(dict, "lr_decay_steps", values.integer(schedule.decay_samples));
  values.set(dict, "min_lr", values.real(schedule.min_rate));
  values.set(dict, "start_wd", values.real(schedule.start_weight_decay));
  values.set(dict, "end_wd", values.real(schedule.end_weight_decay));
  values.set(dict, "wd_incr_style", values.text(schedule.weight_decay_growth));
  values.set(dict, "wd_incr_steps", values.integer(schedule.weight_decay_samples));
  return dict;
}

PickleValue megatron_group(PickleArena& values, const TrainingProgress& progress, bool decays) {
  const AdamNumbers adam = progress.adam.value_or(AdamNumbers{});
  const PickleValue group = values.dict();
  values.set(group, "wd_mult", values.real(decays ? 1 : 0));
  values.set(group, "lr_mult", values.real(1));
  values.set(group, "is_expert_parallel", values.boolean(false));
  values.set(group, "is_decoupled_lr", values.boolean(false));
  values.set(group, "max_lr", values.real(progress.schedule ? progress.schedule->max_rate : adam.rate));
  values.set(group, "min_lr", values.real(progress.schedule ? progress.schedule->min_rate : adam.rate));
  values.set(group, "lr", values.real(adam.rate));
  values.set(group, "betas", values.tuple({values.real(adam.beta1), values.real(adam.beta2)}));
  values.set(group, "eps", values.real(adam.epsilon));
  values.set(group, "weight_decay", values.real(decays ? adam.weight_decay : 0));
  values.set(group, "amsgrad", values.boolean(false));
  values.set(group, "maximize", values.boolean(false));
  for (const char* name : {"foreach", "fused"}) values.set(group, name, values.none());
  for (const char* name : {"capturable", "differentiable"}) values.set(group, name, values.boolean(false));
  values.set(group, "decoupled_weight_decay", values.boolean(true));
  values.set(group, "step", values.integer(adam.updates));
  return group;
}

}  // namespace nadi::inline files
