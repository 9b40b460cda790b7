#include "nadi/cli/train_options.h"

#include <algorithm>
#include <filesystem>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/units.h"
#include "nadi/checkpoint/whole_model.h"
#include "nadi/cli/computation_choices.h"
#include "nadi/cli/expert_flags.h"
#include "nadi/cli/slow_flag.h"
#include "nadi/cli/train_batches.h"
#include "nadi/cli/train_files.h"
#include "nadi/cli/train_flags.h"
#include "nadi/cli/train_plan.h"
#include "nadi/command_line/flags.h"
#include "nadi/megatron/data_paths.h"
#include "nadi/megatron/defaults.h"
#include "nadi/megatron/megatron_flags.h"
#include "nadi/megatron/model.h"
#include "nadi/megatron/schedule.h"
#include "nadi/model/config_file.h"
#include "nadi/model/dropout.h"
#include "nadi/terminal/wrap.h"
#include "nadi/train/megatron_run.h"
#include "nadi/train/start_point.h"

namespace nadi::inline show {
namespace {

// --use-checkpoint-args: the model of the checkpoint that --load names; nothing where there is none.
std::optional<ModelConfig> model_of_checkpoint(const Flags& flags) {
  const auto folder = flags.text("--load");
  if (!flags.given("--use-checkpoint-args") || !folder) return std::nullopt;
  const Verify verify = flags.given("--no-verify") ? Verify::kNo : Verify::kYes;
  const StartPoint start =
      find_start({.load = *folder, .load_step = flags.integer("--ckpt-step", 0), .verify = verify});
  const std::filesystem::path found = start.resume_from.empty() ? start.init_from : start.resume_from;
  if (found.empty()) return std::nullopt;
  if (const auto megatron = open_if_megatron(found, verify)) return megatron->config();
  return load_model_config(found.string());
}

// The MODEL of the command line; "" when Megatron's flags describe one, or a checkpoint has one.
std::string model_name(const Flags& flags, bool in_checkpoint) {
  const auto name = flags.text("--model-name");
  if (name && flags.has_positional())
    throw usage_error("MODEL and --model-name contradict each other", "give one of them");
  if (name) return *name;
  const bool described = has_model_flags(flags) || in_checkpoint;
  return !flags.has_positional() && described ? "" : flags.positional();
}

ModelConfig resolve_model(const Flags& flags, const std::string& model, std::vector<std::string>& notes) {
  // A folder called "bert" is that folder, unless flags describe a model.
  const bool family = is_model_family(model) && (has_model_flags(flags) || !std::filesystem::exists(model));
  if (model.empty() || family) return megatron_model(flags, model, notes);
  ModelConfig config = load_model_config(model, flags.text("--model-type").value_or(""));
  apply_model_flags(flags, config);
  return config;
}

void apply_dropout(const Flags& flags, ModelConfig& config) {
  const auto rate = flags.number("--dropout", 1);
  if (!rate) return;
  for (const std::string_view flag : {"--attention-dropout", "--hidden-dropout"})
    if (flags.given(flag)) throw usage_error(format("--dropout and {} contradict each other", flag));
  set_dropout(config, *rate);
}

DType resolve_dtype(const Flags& flags) {
  const bool bf16 = flags.given("--bf16"), fp16 = flags.given("--fp16");
  const auto choice = flags.choice("--dtype");
  if (bf16 && fp16) throw usage_error("--bf16 and --fp16 contradict each other");
  const DType dtype = bf16 ? DType::kBF16 : fp16 ? DType::kF16 : kDTypes[choice.value_or(0)].second;
  if (choice && kDTypes[*choice].second != dtype)
    throw usage_error(format("--dtype {} and {} contradict each other", kDTypes[*choice].first,
                             bf16 ? "--bf16" : "--fp16"));
  return dtype;
}

OptimizerOptions resolve_optimizer(const Flags& flags, std::vector<std::string>& notes) {
  OptimizerOptions optimizer;
  if (const auto choice = flags.choice("--optimizer")) optimizer.kind = kOptimizers[*choice];
  if (optimizer.kind == OptimizerKind::kAdam && uses_megatron_flags(flags)) {
    optimizer.kind = OptimizerKind::kAdamW;
    notes.push_back("--optimizer adam is Megatron's, whose weight decay is that of adamw");
  }
  optimizer.weight_decay = flags.number("--weight-decay").value_or(optimizer.weight_decay);
  optimizer.max_grad_norm =
      flags.number(given_name(flags, "--max-grad-norm")).value_or(optimizer.max_grad_norm);
  optimizer.beta1 = flags.number("--adam-beta1", 1).value_or(optimizer.beta1);
  optimizer.beta2 = flags.number("--adam-beta2", 1).value_or(optimizer.beta2);
  optimizer.epsilon = flags.number("--adam-eps").value_or(optimizer.epsilon);
  optimizer.momentum = flags.number("--sgd-momentum", 1).value_or(optimizer.momentum);
  return optimizer;
}

Recompute resolve_recomputation(const Flags& flags) {
  using Granularity = Recompute::Granularity;
  Recompute recompute = resolve_recompute(flags);
  for (const auto& [flag, meaning] : {std::pair{"--recompute-activations", Granularity::kSelective},
                                      {"--checkpoint-activations", Granularity::kFull}}) {
    if (!flags.given(flag)) continue;
    // Scripts have both, --recompute-activations being the older spelling of the other.
    if (flags.given("--recompute") && recompute.granularity != meaning)
      throw usage_error(
          format("{} and --recompute {} contradict each other", flag, to_string(recompute.granularity)));
    recompute.granularity = meaning;
  }
  if (const auto method = flags.choice("--activations-checkpoint-method")) {
    for (const std::string_view other : {"--recompute", "--recompute-method"})
      if (flags.given(other))
        throw usage_error(format("--activations-checkpoint-method and {} contradict each other", other));
    recompute.granularity = Granularity::kFull;
    recompute.method = *method == 0 ? Recompute::Method::kUniform : Recompute::Method::kBlock;
  }
  return recompute;
}

bool resolve_fused_attention(const Flags& flags) {
  constexpr std::size_t kUnfusedBackend = 3;  // and what comes after it
  const auto own = flags.choice("--attention");
  const auto backend = flags.choice("--attention-backend");
  const bool fused = own ? *own == kFusedAttention : backend.value_or(0) < kUnfusedBackend;
  if (own && backend && fused != (*backend < kUnfusedBackend) && *backend != 0)
    throw usage_error("--attention and --attention-backend contradict each other");
  if (!fused && flags.given("--use-flash-attn"))
    throw usage_error("unfused attention and --use-flash-attn contradict each other");
  return fused;
}

void resolve_evaluation(const Flags& flags, ResolvedTrain& run) {
  TrainOptions& options = run.options;
  const auto iterations = flags.integer("--eval-iters", 0);
  run.eval_iterations = iterations.value_or(kMegatronEvalIterations);
  options.evaluate = !flags.given("--skip-eval") && run.eval_iterations > 0;
  options.eval_steps = flags.integer(given_name(flags, "--eval-steps")).value_or(0);
  for (const std::string_view flag : {"--eval-steps", "--eval-data"})
    if (flags.given(flag) && !options.evaluate)
      throw usage_error(format("{} and --skip-eval contradict each other", flag));
  if (!options.evaluate) options.eval_steps = 0;  // Megatron's scripts have --eval-interval in any case
  if (iterations && options.evaluate && !reads_indexed_data(flags))
    run.notes.push_back("--eval-iters has no effect without --data-path: all of the validation data is used");
}

std::optional<WandbOptions> resolve_wandb(const Flags& flags) {
  const auto project = flags.text("--wandb-project");
  for (const std::string_view flag : {"--wandb-name", "--wandb-dir", "--wandb-entity"})
    if (flags.given(flag) && !project)
      throw usage_error(format("{} needs --wandb-project, which turns the offline run on", flag));
  if (!project) return std::nullopt;
  return WandbOptions{.folder = flags.text("--wandb-dir").value_or("."),
                      .project = *project,
                      .name = flags.text("--wandb-name").value_or(""),
                      .entity = flags.text("--wandb-entity").value_or(""),
                      .now = {}};
}

void check_data_flags(const Flags& flags, std::vector<std::string>& notes) {
  const bool indexed = reads_indexed_data(flags);
  for (const std::string_view flag : {"--data", "--eval-data", "--mock-data"})
    if (indexed && flags.given(flag))
      throw usage_error(format("{} and --data-path contradict each other", flag));
  for (const std::string_view flag : {"--data", "--eval-data"})
    if (flags.given(flag) && flags.given("--mock-data"))
      throw usage_error(format("--mock-data and {} contradict each other", flag));
  for (const std::string_view flag : {"--split", "--data-cache-path"})
    if (!indexed && flags.given(flag) && !flags.given("--mock-data"))
      throw usage_error(format("{} needs --data-path", flag),
                        "it is for indexed datasets of 'nadi data preprocess'");
  if (flags.given("--eod-mask-loss") && !indexed)
    notes.push_back("--eod-mask-loss has no effect without --data-path: no sample has two documents");
}

}  // namespace

std::int64_t samples_of(const Flags& flags, const TrainOptions& options) {
  const std::int64_t steps = options.batches
                                 ? options.batches->samples_before(options.max_steps + 1)
                                 : checked_multiply(options.max_steps, global_batch_of(options), "samples");
  return std::max(steps, flags.integer("--train-samples").value_or(0));
}

ResolvedTrain resolve_train(const Flags& flags, std::int64_t ranks, Rank rank) {
  refuse_megatron_flags(flags);
  const bool megatron = uses_megatron_flags(flags);
  ResolvedTrain run;
  const std::optional<ModelConfig> in_checkpoint = model_of_checkpoint(flags);
  const std::string named = model_name(flags, in_checkpoint.has_value());
  TrainOptions& options = run.options;
  options.config = in_checkpoint ? *in_checkpoint : resolve_model(flags, named, run.notes);
  run.model = named.empty() ? options.config.name : named;
  apply_dropout(flags, options.config);
  options.plan = resolve_train_plan(flags, options.config, ranks, run.notes);
  options.bucket_elements = flags.integer("--ddp-bucket-size").value_or(kBucketsAsTheyFit);
  options.slowdown = slowdown_of(flags, rank, ranks);
  options.dtype = resolve_dtype(flags);
  options.optimizer = resolve_optimizer(flags, run.notes);
  options.recompute = resolve_recomputation(flags);
  options.fused_attention = resolve_fused_attention(flags);
  options.experts = resolve_experts(flags);
  if (megatron && options.config.experts > 0 && !options.experts.balance)
    options.experts.balance = BalanceLossKind::kPerLayer;
  options.seq_length = flags.integer("--max-seq-length")
                           .value_or(std::min(longest_sequence(options.config), kDefaultTrainSeqLength));
  const TrainBatches batches = resolve_batches(flags, options.plan.dp, options.seq_length,
                                               {options.batch_size, options.accumulation}, run.notes);
  options.batch_size = batches.sizes.batch_size;
  options.accumulation = batches.sizes.accumulation;
  if (!batches.schedule.is_constant()) options.batches = batches.schedule;
  const TrainSchedule schedule = resolve_schedule(flags, batches.schedule);
  options.optimizer.learning_rate = schedule.learning_rate;
  options.max_steps = schedule.max_steps;
  options.optimizer.weight_decay_schedule = schedule.weight_decay;
  if (schedule.weight_decay) options.optimizer.weight_decay = schedule.weight_decay->end;
  options.epochs = flags.integer("--num-epochs").value_or(reads_indexed_data(flags) ? 1 : options.epochs);
  const std::uint64_t seed = megatron ? kMegatronSeed : options.seed;
  options.seed =
      static_cast<std::uint64_t>(flags.integer("--seed", 0).value_or(static_cast<std::int64_t>(seed)));
  options.device = resolve_device(flags);
  options.math = resolve_math(flags, options.device);
  if (flags.given("--deterministic-mode")) options.math.deterministic = true;
  options.threads = resolve_threads(flags);
  options.tensorboard_dir = flags.text("--tensorboard-dir").value_or("");
  run.wandb = resolve_wandb(flags);
  resolve_evaluation(flags, run);
  check_data_flags(flags, run.notes);
  resolve_checkpoints(flags, named, options, run.notes);
  resolve_traces(flags, run.model, options, run.notes);

  run.log_format = megatron ? LogFormat::kMegatron : LogFormat::kNadi;
  if (const auto choice = flags.choice("--log-format"))
    run.log_format = *choice == 0 ? LogFormat::kNadi : LogFormat::kMegatron;
  run.logging_steps = flags.integer(given_name(flags, "--logging-steps")).value_or(kDefaultLoggingSteps);
  run.log_throughput = flags.given("--log-throughput");
  run.timing_level = static_cast<int>(flags.choice("--timing-log-level").value_or(0));
  run.timing_option = static_cast<TimingOption>(flags.choice("--timing-log-option").value_or(1));
  options.time_parts = run.timing_level > 0;
  run.exit_interval = flags.integer("--exit-interval").value_or(0);
  constexpr std::int64_t kLongest = 1'000'000;  // minutes: two years
  run.exit_minutes = std::min(flags.integer("--exit-duration-in-mins").value_or(0), kLongest);
  if (const auto without = given_without_effect(flags); !without.empty())
    run.notes.push_back(format("no effect here: {}", join(without, ", ")));
  return run;
}

}  // namespace nadi::inline show
