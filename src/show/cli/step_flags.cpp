#include "nadi/cli/step_flags.h"

#include <algorithm>
#include <array>
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/units.h"
#include "nadi/cli/computation_choices.h"
#include "nadi/cli/plan_file_flag.h"
#include "nadi/cli/plan_flags.h"
#include "nadi/command_line/flags.h"
#include "nadi/model/architecture.h"
#include "nadi/model/config_file.h"
#include "nadi/model/dropout.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/printable.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {
namespace {

constexpr std::int64_t kDefaultSeqLength = 2048;
constexpr std::int64_t kDefaultInputTokens = 128;
constexpr std::int64_t kDefaultOutputTokens = 32;
// The work of every micro-batch is added up one by one. A larger number is a typing mistake.
constexpr std::int64_t kMostMicroBatches = 100'000;

// Kinds of steps, as bits.
using Steps = unsigned;
constexpr Steps bit_of(StepKind kind) {
  return 1u << static_cast<unsigned>(kind);
}
constexpr Steps kTraining = bit_of(StepKind::kTrain);
constexpr Steps kWholeSequences = kTraining | bit_of(StepKind::kEvaluate);
constexpr Steps kPrompts =
    bit_of(StepKind::kPrefill) | bit_of(StepKind::kDecode) | bit_of(StepKind::kGenerate);
constexpr Steps kGenerating = bit_of(StepKind::kGenerate);
constexpr Steps kEvery = kWholeSequences | kPrompts;

struct StepFlag {
  FlagSpec spec;
  Steps steps;  // with which it makes sense
};

std::string step_help() {
  std::string text;
  for (const StepKindEntry& entry : step_kinds())
    text += format("{}{}: {}", text.empty() ? "" : "; ", entry.name, entry.summary);
  return text;
}

std::vector<StepFlag> model_flags() {
  std::vector<std::string_view> kinds, types;
  for (const StepKindEntry& entry : step_kinds()) kinds.push_back(entry.name);
  for (const Architecture& architecture : architectures()) types.push_back(architecture->model_type);
  return {
      {{.names = {"--model-type"},
        .value = "TYPE",
        .help = format("architecture of a config.json without model_type: {}", join(types, ", ")),
        .fallback = "what the configuration says"},
       kEvery},
      {{.names = {"--step"},
        .value = "KIND",
        .help = step_help(),
        .fallback = std::string(to_string(StepRequest{}.kind)),
        .choices = kinds},
       kEvery},
  };
}

std::vector<StepFlag> size_flags() {
  return {
      {{.names = {"--batch-size"},
        .value = "N",
        .help = "sequences per step on each data-parallel rank",
        .fallback = format("{}", StepRequest{}.batch_size)},
       kEvery},
      {{.names = {"--global-batch-size"},
        .value = "N",
        .help = "sequences per step on all ranks together, instead of --batch-size; training",
        .fallback = "--batch-size"},
       kTraining},
      {{.names = {"--micro-batch-size"},
        .value = "N",
        .help = "sequences per micro-batch; gradients are accumulated over micro-batches; training",
        .fallback = "the whole batch at once"},
       kTraining},
      {{.names = {"--seq-length"},
        .value = "N",
        .help = "tokens per sequence; training and evaluation",
        .fallback = format("the model's positions, at most {}", kDefaultSeqLength)},
       kWholeSequences},
      {{.names = {"--num-input-tokens"},
        .value = "N",
        .help = "tokens of the prompt; prefill, decode and generate",
        .fallback = format("{}, or as many as fit the model's positions", kDefaultInputTokens)},
       kPrompts},
      {{.names = {"--num-output-tokens"},
        .value = "N",
        .help = "tokens made after the prompt; generate",
        .fallback = format("{}, or as many as fit the model's positions", kDefaultOutputTokens)},
       kGenerating},
  };
}

std::vector<StepFlag> computation_flags() {
  return {
      {{.names = {"--dtype"},
        .value = "TYPE",
        .help = "data type of parameters and activations",
        .fallback = std::string(kDTypes[0].first),
        .choices = dtype_names()},
       kEvery},
      {{.names = {"--fp8"},
        .help = "compute the matrix products of the blocks with fp8 operands; with --dtype bf16"},
       kEvery},
      {attention_flag(), kEvery},
  };
}

std::vector<StepFlag> training_flags() {
  const OptimizerOptions optimizer;
  return {
      {{.names = {"--optimizer"},
        .value = "NAME",
        .help = "optimizer that updates the parameters",
        .fallback = std::string(to_string(optimizer.kind)),
        .choices = optimizer_names()},
       kTraining},
      {{.names = {"--weight-decay"},
        .value = "X",
        .help = "weight decay of matrices; biases and norms have none",
        .fallback = format("{}", optimizer.weight_decay)},
       kTraining},
      {{.names = {"--max-grad-norm", "--clip-grad"},
        .value = "X",
        .help = "clip gradients to this norm; 0: no clipping, and no norm is taken",
        .fallback = format("{}", optimizer.max_grad_norm)},
       kTraining},
      {{.names = {"--dropout"},
        .value = "RATE",
        .help = "all dropout rates of the model",
        .fallback = "the model's own"},
       kTraining},
  };
}

std::vector<StepFlag> recomputation_flags() {
  std::vector<StepFlag> flags;
  for (FlagSpec& spec : recompute_flags()) flags.push_back({std::move(spec), kTraining});
  return flags;
}

std::vector<StepFlag> split_flags() {
  std::vector<StepFlag> flags;
  flags.push_back({plan_file_flag(""), kTraining});
  for (PlanFlag& flag : plan_flags())
    flags.push_back({std::move(flag.spec), flag.generating ? kEvery : kTraining});
  return flags;
}

// The headings of help, in its order.
std::vector<StepFlag> all_step_flags() {
  std::vector<StepFlag> all;
  const auto append = [&](std::vector<StepFlag> flags, std::string_view group) {
    for (StepFlag& flag : flags) {
      flag.spec.group = group;
      all.push_back(std::move(flag));
    }
  };
  append(model_flags(), "the step");
  append(size_flags(), "its size");
  append(split_flags(), "how it is split over ranks");
  append(computation_flags(), "how it is computed");
  append(recomputation_flags(), "training");
  append(training_flags(), "training");
  return all;
}

std::string kinds_of(Steps steps) {
  std::string text;
  for (const StepKindEntry& entry : step_kinds())
    if ((steps & bit_of(entry.kind)) != 0) text += format("{}{}", text.empty() ? "" : ", ", entry.name);
  return text;
}

void refuse_flags_of_other_steps(const Flags& flags, StepKind kind) {
  for (const StepFlag& flag : all_step_flags())
    if (flags.given(flag.spec.names[0]) && (flag.steps & bit_of(kind)) == 0)
      throw usage_error(format("{} does not apply to --step {}", flag.spec.names[0], to_string(kind)),
                        format("it goes with --step {}", kinds_of(flag.steps)));
}

void resolve_batch(const Flags& flags, StepRequest& request, Plan& plan) {
  if (flags.given("--batch-size") && flags.given("--global-batch-size"))
    throw usage_error("--batch-size and --global-batch-size contradict each other",
                      "give the size per rank or the size of all ranks together");
  if (const auto size = flags.integer("--batch-size")) request.batch_size = *size;
  const auto global = flags.integer("--global-batch-size");
  if (global && *global % plan.dp != 0)
    throw usage_error(
        format("a global batch of {} does not divide over {} data-parallel ranks", *global, plan.dp),
        "it is --dp x micro-batches x --micro-batch-size");
  if (global) request.batch_size = *global / plan.dp;
  const auto micro = flags.integer("--micro-batch-size");
  if (!micro) return;
  if (request.batch_size % *micro != 0 && plan.dp > 1)
    throw usage_error(
        format("a batch of {} per data-parallel rank does not divide into micro-batches of {}",
               request.batch_size, *micro),
        format("--global-batch-size is --dp x micro-batches x --micro-batch-size: a multiple of "
               "{} x {}",
               plan.dp, *micro));
  if (request.batch_size % *micro != 0)
    throw usage_error(
        format("a batch of {} does not divide into micro-batches of {}", request.batch_size, *micro),
        global ? "" : "the size of the batch is --global-batch-size");
  plan.micro_batches = request.batch_size / *micro;
  if (plan.micro_batches > kMostMicroBatches)
    throw usage_error(
        format("a step of {} micro-batches; the limit is {}", plan.micro_batches, kMostMicroBatches));
}

std::int64_t resolve_seq_length(const Flags& flags, const ModelConfig& config) {
  return flags.integer("--seq-length").value_or(std::min(longest_sequence(config), kDefaultSeqLength));
}

void resolve_tokens(const Flags& flags, const ModelConfig& config, StepRequest& request) {
  const auto input = flags.integer("--num-input-tokens");
  const bool generates = request.kind == StepKind::kGenerate;
  request.seq_length = resolve_seq_length(flags, config);
  // Defaults always fit the model. Values that the user gives are checked later.
  const std::int64_t after_input = std::max<std::int64_t>(longest_sequence(config) - input.value_or(1), 1);
  request.output_tokens =
      generates ? flags.integer("--num-output-tokens").value_or(std::min(after_input, kDefaultOutputTokens))
                : 1;
  const std::int64_t made = request.kind == StepKind::kPrefill ? 0 : request.output_tokens;
  const std::int64_t before_output = std::max<std::int64_t>(longest_sequence(config) - made, 1);
  request.input_tokens = input.value_or(std::min(before_output, kDefaultInputTokens));
}

void resolve_computation(const Flags& flags, StepRequest& request) {
  if (const auto choice = flags.choice("--dtype")) request.dtype = kDTypes[*choice].second;
  request.fp8 = flags.given("--fp8");
  if (const auto choice = flags.choice("--attention")) request.fused_attention = *choice == kFusedAttention;
}

void resolve_training(const Flags& flags, ModelConfig& config, StepRequest& request) {
  OptimizerOptions& optimizer = request.optimizer;
  if (const auto choice = flags.choice("--optimizer")) optimizer.kind = kOptimizers[*choice];
  optimizer.weight_decay = flags.number("--weight-decay").value_or(optimizer.weight_decay);
  optimizer.max_grad_norm = flags.number("--max-grad-norm").value_or(optimizer.max_grad_norm);
  if (const auto rate = flags.number("--dropout", 1)) set_dropout(config, *rate);
}

class Settings {
 public:
  Settings(const Flags& flags, StepKind kind) : flags_(flags), kind_(kind) {}

  // `applies` besides the kind of step.
  void add(std::string_view key, std::string_view flag, const Json& value, bool applies = true) {
    const bool shown = applies && applies_to_step(flag);
    list.push_back({.key = key,
                    .flag = flag,
                    .value = shown ? value : Json(nullptr),
                    .given = !flag.empty() && flags_.given(flag)});
  }

  std::vector<Setting> list;

 private:
  bool applies_to_step(std::string_view flag) const {
    return flag.empty() || std::ranges::any_of(known_, [&](const StepFlag& entry) {
             return entry.spec.names[0] == flag && (entry.steps & bit_of(kind_)) != 0;
           });
  }

  const Flags& flags_;
  StepKind kind_;
  std::vector<StepFlag> known_ = all_step_flags();
};

std::vector<Setting> settings_of(const Flags& flags, const ModelConfig& config, const StepRequest& request,
                                 const Plan& plan) {
  const bool training = request.kind == StepKind::kTrain;
  const bool full = request.recompute.granularity == Recompute::Granularity::kFull;
  Settings settings(flags, request.kind);
  settings.add("step", "--step", to_string(request.kind));
  // Both sizes are settings. Only one of them has a flag, since the command line takes one.
  const bool global = flags.given("--global-batch-size");
  settings.add("batch_size", global ? "" : "--batch-size", request.batch_size);
  settings.add("global_batch_size", global ? "--global-batch-size" : "",
               checked_multiply(request.batch_size, plan.dp, "sequences"));
  settings.add("micro_batch_size", "--micro-batch-size", request.batch_size / plan.micro_batches);
  settings.add("micro_batches", "", plan.micro_batches, training);
  settings.add("seq_length", "--seq-length", request.seq_length);
  settings.add("num_input_tokens", "--num-input-tokens", request.input_tokens);
  settings.add("num_output_tokens", "--num-output-tokens", request.output_tokens);
  settings.add("dtype", "--dtype", name_of(request.dtype));
  settings.add("fp8", "--fp8", request.fp8);
  settings.add("attention", "--attention", attention_name(request.fused_attention));
  settings.add("recompute", "--recompute", to_string(request.recompute.granularity));
  settings.add("recompute_method", "--recompute-method", to_string(request.recompute.method), full);
  settings.add("recompute_num_layers", "--recompute-num-layers", request.recompute.layers, full);
  settings.add("optimizer", "--optimizer", to_string(request.optimizer.kind));
  settings.add("weight_decay", "--weight-decay", request.optimizer.weight_decay);
  settings.add("max_grad_norm", "--max-grad-norm", request.optimizer.max_grad_norm);
  const bool hidden = has_hidden_dropout(config);
  settings.add("dropout", "--dropout", config.attention_dropout, flags.given("--dropout"));
  settings.add("embedding_dropout", "", config.embedding_dropout, training && hidden);
  settings.add("attention_dropout", "", config.attention_dropout, training);
  settings.add("residual_dropout", "", config.residual_dropout, training && hidden);
  return std::move(settings.list);
}

void name_ignored_keys(const ModelConfig& config, Console& console) {
  if (config.ignored_keys.empty()) return;
  std::string keys;
  for (const std::string& key : config.ignored_keys) keys += (keys.empty() ? "" : ", ") + printable(key);
  console.info() << format("note: {}: {} key{} not used: {}\n", config.name, config.ignored_keys.size(),
                           config.ignored_keys.size() == 1 ? "" : "s", keys);
}

}  // namespace

void add_step_flags(Flags& flags, std::string dtype_fallback) {
  for (StepFlag& flag : all_step_flags()) {
    if (flag.spec.names[0] == "--dtype" && !dtype_fallback.empty()) flag.spec.fallback = dtype_fallback;
    flags.add(std::move(flag.spec));
  }
}

ResolvedStep resolve_step(const Flags& flags, Console& console) {
  ResolvedStep step;
  StepRequest& request = step.request;
  if (const auto choice = flags.choice("--step")) request.kind = step_kinds()[*choice].kind;
  refuse_flags_of_other_steps(flags, request.kind);
  step.config = load_model_config(flags.positional(), flags.text("--model-type").value_or(""));
  name_ignored_keys(step.config, console);
  step.plan = resolve_plan(flags);
  if (const std::string note = empty_stages_note(step.config, step.plan); !note.empty())
    console.info() << format("note: {}\n", note);
  resolve_batch(flags, request, step.plan);
  resolve_tokens(flags, step.config, request);
  resolve_computation(flags, request);
  request.recompute = resolve_recompute(flags);
  resolve_training(flags, step.config, request);
  step.settings = settings_of(flags, step.config, request, step.plan);
  step.plan_settings = plan_settings(flags, step.config, request, step.plan);
  return step;
}

void add_unsplit_step_flags(Flags& flags, std::string dtype_fallback) {
  constexpr std::array<std::string_view, 5> kSplit{"--step", "--batch-size", "--micro-batch-size",
                                                   "--num-input-tokens", "--num-output-tokens"};
  const auto add = [&](std::vector<StepFlag> list, std::string_view group) {
    for (StepFlag& flag : list) {
      const std::string_view name = flag.spec.names[0];
      if (std::ranges::find(kSplit, name) != kSplit.end()) continue;
      flag.spec.group = group;
      if (name == "--dtype") flag.spec.fallback = dtype_fallback;
      if (name == "--global-batch-size") {
        flag.spec.help = "sequences per step on all ranks together";
        flag.spec.fallback = "required";
      }
      flags.add(std::move(flag.spec));
    }
  };
  add(model_flags(), "the step");
  add(size_flags(), "the step");
  add(computation_flags(), "how it is computed");
  add(training_flags(), "training");
}

ResolvedStep resolve_unsplit_step(const Flags& flags, Console& console) {
  ResolvedStep step;
  step.config = load_model_config(flags.positional(), flags.text("--model-type").value_or(""));
  name_ignored_keys(step.config, console);
  const auto batch = flags.integer("--global-batch-size");
  if (!batch)
    throw usage_error("the size of the batch is missing", "--global-batch-size 64 are 64 sequences per step");
  step.request.batch_size = *batch;
  step.request.seq_length = resolve_seq_length(flags, step.config);
  resolve_computation(flags, step.request);
  resolve_training(flags, step.config, step.request);
  return step;
}

std::vector<std::string_view> given_step_flags(const Flags& flags) {
  std::vector<std::string_view> given;
  for (const StepFlag& flag : all_step_flags())
    if (const auto& names = flag.spec.names; flags.given(names[0])) given.push_back(names[0]);
  return given;
}

}  // namespace nadi::inline show
