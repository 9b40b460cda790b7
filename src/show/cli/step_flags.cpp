#include "nadi/cli/step_flags.h"

#include <algorithm>
#include <array>
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/units.h"
#include "nadi/cli/computation_choices.h"
#include "nadi/cli/expert_flags.h"
#include "nadi/cli/plan_file_flag.h"
#include "nadi/cli/plan_flags.h"
#include "nadi/command_line/flags.h"
#include "nadi/model/architecture.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/printable.h"
#include "nadi/terminal/wrap.h"

namespace nadi::inline show {
namespace {

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
      {value_flag("--model-type", "TYPE",
                  format("architecture of a config.json without model_type: {}", join(types, ", ")),
                  "what the configuration says"),
       kEvery},
      {value_flag("--step", "KIND", step_help(), std::string(to_string(StepRequest{}.kind)),
                  {.choices = kinds}),
       kEvery},
  };
}

std::vector<StepFlag> size_flags() {
  return {
      {value_flag("--batch-size", "N", "sequences per step on each data-parallel rank",
                  format("{}", StepRequest{}.batch_size)),
       kEvery},
      {value_flag("--global-batch-size", "N",
                  "sequences per step on all ranks together, instead of --batch-size; training",
                  "--batch-size"),
       kTraining},
      {value_flag("--micro-batch-size", "N",
                  "sequences per micro-batch; gradients are accumulated over micro-batches; training",
                  "the whole batch at once"),
       kTraining},
      {value_flag("--seq-length", "N", "tokens per sequence; training and evaluation",
                  format("the model's positions, at most {}", kMostDefaultSeqLength)),
       kWholeSequences},
      {value_flag("--num-input-tokens", "N", "tokens of the prompt; prefill, decode and generate",
                  format("{}, or as many as fit the model's positions", kMostDefaultInputTokens)),
       kPrompts},
      {value_flag("--num-output-tokens", "N", "tokens made after the prompt; generate",
                  format("{}, or as many as fit the model's positions", kMostDefaultOutputTokens)),
       kGenerating},
  };
}

std::vector<StepFlag> computation_flags() {
  return {
      {value_flag("--dtype", "TYPE", "data type of parameters and activations", kDefaultDtypeRule,
                  {.choices = dtype_names()}),
       kEvery},
      {switch_flag("--fp8", "compute the matrix products of the blocks with fp8 operands; with --dtype bf16"),
       kEvery},
      {attention_flag(), kEvery},
  };
}

std::vector<StepFlag> training_flags() {
  const OptimizerOptions optimizer;
  return {
      {value_flag("--optimizer", "NAME", "optimizer that updates the parameters",
                  std::string(to_string(optimizer.kind)), {.choices = optimizer_names()}),
       kTraining},
      {value_flag("--weight-decay", "X", "weight decay of matrices; biases and norms have none",
                  format("{}", optimizer.weight_decay)),
       kTraining},
      {value_flag({"--max-grad-norm", "--clip-grad"}, "X",
                  "clip gradients to this norm; 0: no clipping, and no norm is taken",
                  format("{}", optimizer.max_grad_norm)),
       kTraining},
      {value_flag("--dropout", "RATE", "all dropout rates of the model", "the model's own"), kTraining},
  };
}

std::vector<StepFlag> recomputation_flags() {
  std::vector<StepFlag> flags;
  for (FlagSpec& spec : recompute_flags()) flags.push_back({std::move(spec), kTraining});
  return flags;
}

std::vector<StepFlag> flags_of_experts() {
  std::vector<StepFlag> flags;
  for (FlagSpec& spec : expert_flags()) flags.push_back({std::move(spec), kWholeSequences});
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
  append(flags_of_experts(), "experts");
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

void fill_computation(const Flags& flags, StepQuestion& question) {
  if (const auto choice = flags.choice("--dtype")) question.dtype = kDTypes[*choice].second;
  question.fp8 = flags.given("--fp8");
  if (const auto choice = flags.choice("--attention")) question.fused_attention = *choice == kFusedAttention;
  question.experts = resolve_experts(flags);
  OptimizerOptions& optimizer = question.optimizer;
  if (const auto choice = flags.choice("--optimizer")) optimizer.kind = kOptimizers[*choice];
  optimizer.weight_decay = flags.number("--weight-decay").value_or(optimizer.weight_decay);
  optimizer.max_grad_norm = flags.number("--max-grad-norm").value_or(optimizer.max_grad_norm);
  question.dropout = flags.number("--dropout", 1);
}

}  // namespace

void add_step_flags(Flags& flags) {
  for (StepFlag& flag : all_step_flags()) flags.add(std::move(flag.spec));
}

StepQuestion step_question(const Flags& flags) {
  StepQuestion question{.model = flags.positional(), .model_type = flags.text("--model-type").value_or("")};
  if (const auto choice = flags.choice("--step")) question.kind = step_kinds()[*choice].kind;
  refuse_flags_of_other_steps(flags, question.kind);
  if (flags.given("--batch-size") && flags.given("--global-batch-size"))
    throw usage_error("--batch-size and --global-batch-size contradict each other",
                      "give the size per rank or the size of all ranks together");
  question.plan = resolve_plan(flags);
  question.batch_size = flags.integer("--batch-size");
  question.global_batch_size = flags.integer("--global-batch-size");
  question.micro_batch_size = flags.integer("--micro-batch-size");
  question.seq_length = flags.integer("--seq-length");
  question.input_tokens = flags.integer("--num-input-tokens");
  question.output_tokens = flags.integer("--num-output-tokens");
  question.recompute = resolve_recompute(flags);
  fill_computation(flags, question);
  return question;
}

void add_unsplit_step_flags(Flags& flags) {
  constexpr std::array<std::string_view, 5> kSplit{"--step", "--batch-size", "--micro-batch-size",
                                                   "--num-input-tokens", "--num-output-tokens"};
  const auto add = [&](std::vector<StepFlag> list, std::string_view group) {
    for (StepFlag& flag : list) {
      const std::string_view name = flag.spec.names[0];
      if (std::ranges::find(kSplit, name) != kSplit.end()) continue;
      flag.spec.group = group;
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
  add(flags_of_experts(), "experts");
  add(training_flags(), "training");
}

StepQuestion unsplit_step_question(const Flags& flags) {
  StepQuestion question{.model = flags.positional(),
                        .model_type = flags.text("--model-type").value_or(""),
                        .global_batch_size = flags.integer("--global-batch-size"),
                        .seq_length = flags.integer("--seq-length")};
  fill_computation(flags, question);
  return question;
}

void note_step(const ResolvedStep& step, Console& console) {
  name_ignored_keys(step.config, console);
  for (const std::string& note : step.notes) console.info() << format("note: {}\n", note);
}

void name_ignored_keys(const ModelConfig& config, Console& console) {
  if (config.ignored_keys.empty()) return;
  std::string keys;
  for (const std::string& key : config.ignored_keys) keys += (keys.empty() ? "" : ", ") + printable(key);
  console.info() << format("note: {}: {} key{} not used: {}\n", config.name, config.ignored_keys.size(),
                           config.ignored_keys.size() == 1 ? "" : "s", keys);
}

std::vector<std::string_view> given_step_flags(const Flags& flags) {
  std::vector<std::string_view> given;
  for (const StepFlag& flag : all_step_flags())
    if (const auto& names = flag.spec.names; flags.given(names[0])) given.push_back(names[0]);
  return given;
}

}  // namespace nadi::inline show
