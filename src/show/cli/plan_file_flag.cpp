#include "nadi/cli/plan_file_flag.h"

#include <algorithm>
#include <array>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cli/computation_choices.h"
#include "nadi/megatron/megatron_flags.h"
#include "nadi/prediction/plan_file_answer.h"
#include "nadi/step/step_question.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;

std::string dashed(const std::vector<std::int64_t>& partition) {
  std::string text;
  for (const std::int64_t layers : partition) text += format("{}{}", text.empty() ? "" : "-", layers);
  return text;
}

// Fills in what the file decides.
class PlanFiller {
 public:
  explicit PlanFiller(PlannedFlags& planned)
      : flags_(planned.flags), file_(*planned.file), path_(planned.path.string()) {}

  void fill() {
    refuse_other_steps();
    fill_model();
    fill_batch();
    fill_computation();
    fill_split();
    fill_assumptions();
    refuse_other_names();
  }

 private:
  Error contradiction(std::string_view given, const std::string& there) const {
    return usage_error(format("{} and {} contradict each other: {} there", given, path_, there),
                       format("leave {} out, or change the plan", given.substr(0, given.find(' '))));
  }

  bool has(std::string_view name) const { return flags_.find(name) != nullptr; }
  std::string_view first_name(std::string_view name) const { return flags_.find(name)->names[0]; }

  // `name` is any name of the flag, `key` what the file calls it.
  void decide(std::string_view name, std::string_view key, std::string value) {
    const std::string_view own = first_name(name);
    if (!flags_.given(own)) return flags_.fill(own, std::move(value));
    if (*flags_.text(own) != value)
      throw contradiction(format("{} {}", own, *flags_.text(own)), format("{} is {}", key, value));
  }
  void decide_number(std::string_view name, std::string_view key, std::int64_t value) {
    const std::string_view own = first_name(name);
    if (!flags_.given(own)) return flags_.fill(own, format("{}", value));
    if (flags_.integer(own, 0) != value)
      throw contradiction(format("{} {}", own, *flags_.text(own)), format("{} is {}", key, value));
  }
  void decide_switch(std::string_view name, std::string_view key, bool value) {
    if (value && !flags_.given(name)) flags_.fill(name, "true");
    if (!value && flags_.given(name)) throw contradiction(name, format("{} is false", key));
  }
  // For a flag that says something that follows from the file. Whether it was given.
  bool agrees(std::string_view name, std::int64_t value, const std::string& there) const {
    if (!has(name) || !flags_.given(name)) return false;
    if (flags_.integer(name, 0) != value)
      throw contradiction(format("{} {}", name, *flags_.text(name)), there);
    return true;
  }

  void refuse_other_steps() const {
    if (!has("--step")) return;
    if (const auto choice = flags_.choice("--step"); choice && step_kinds()[*choice].kind != StepKind::kTrain)
      throw usage_error(format("--plan does not apply to --step {}", to_string(step_kinds()[*choice].kind)),
                        "plan files are for training");
  }

  void fill_model() {
    const bool by_flag = has("--model-name") && flags_.given("--model-name");
    if (!by_flag && !flags_.has_positional()) return flags_.fill_positional(file_.model);
    const std::string given = by_flag ? *flags_.text("--model-name") : flags_.positional();
    std::error_code ignored;
    if (given != file_.model && !fs::equivalent(given, file_.model, ignored))
      throw usage_error(
          format("MODEL {} and {} contradict each other: the model there is {}", given, path_, file_.model),
          "leave MODEL out; weights to start training from are given with --init-from");
  }

  void fill_batch() {
    decide_number("--seq-length", "seq_length", file_.seq_length);
    decide_number("--micro-batch-size", "micro_batch_size", file_.micro_batch_size);
    const bool trains = has("--gradient-accumulation-steps");
    const std::int64_t per_rank = file_.global_batch_size / file_.plan.dp;
    const std::string there = format("global_batch_size {} makes {} per data-parallel rank, {} micro-batches",
                                     file_.global_batch_size, per_rank, file_.plan.micro_batches);
    // These say the same as --global-batch-size, and commands do not take both.
    const bool said = trains ? agrees("--gradient-accumulation-steps", file_.plan.micro_batches, there)
                             : agrees("--batch-size", per_rank, there);
    if (!said) decide_number("--global-batch-size", "global_batch_size", file_.global_batch_size);
  }

  void fill_computation() {
    decide("--dtype", "dtype", std::string(name_of(file_.dtype)));
    if (has("--fp8"))
      decide_switch("--fp8", "fp8", file_.fp8);
    else if (file_.fp8)
      throw input_error({.file = path_}, "the plan computes with fp8 operands, which no engine does");
    decide("--attention", "attention", std::string(attention_name(file_.fused_attention)));
    const bool full = file_.recompute.granularity == Recompute::Granularity::kFull;
    decide("--recompute", "recompute", std::string(to_string(file_.recompute.granularity)));
    if (full)
      decide("--recompute-method", "recompute.method", std::string(to_string(file_.recompute.method)));
    if (full) decide_number("--recompute-num-layers", "recompute.layers", file_.recompute.layers);
    // In a script of Megatron's, adam is adamw.
    const bool same = has("--bf16") && uses_megatron_flags(flags_) &&
                      file_.optimizer == OptimizerKind::kAdamW && flags_.text("--optimizer") == "adam";
    if (!same) decide("--optimizer", "optimizer", std::string(to_string(file_.optimizer)));
  }

  void fill_split() {
    const Plan& plan = file_.plan;
    decide_number("--tp", "tp", plan.tp);
    decide_number("--cp", "cp", plan.cp);
    decide_number("--dp", "dp", plan.dp);
    decide_number("--pp", "pp", plan.pp);
    decide_switch("--sequence-parallel", "sequence_parallel", plan.sequence_parallel);
    decide("--zero", "zero", format("{}", plan.zero_stage));
    decide("--schedule", "schedule", std::string(to_string(plan.schedule)));
    decide_number("--virtual-stages", "virtual_stages", plan.virtual_stages);
    if (!plan.partition.empty()) decide("--partition", "partition", dashed(plan.partition));
    agrees("--num-ranks", plan.world_size(), format("the plan has {} ranks", plan.world_size()));
  }

  // They are no part of the plan: a flag may say something else.
  void fill_assumptions() {
    const PlanPrediction& predicted = file_.predicted;
    const auto fill = [&](std::string_view name, std::string value) {
      if (has(name) && !flags_.given(name) && !value.empty()) flags_.fill(name, std::move(value));
    };
    fill("--framework", predicted.framework);
    if (predicted.gradient_dtype)
      fill("--grad-reduce-dtype", std::string(name_of(*predicted.gradient_dtype)));
    fill("--collective", predicted.collective);
    fill("--layer-times", predicted.layer_times);
  }

  // Megatron's flags for what the file decides, where they say something else.
  void refuse_other_names() const {
    using Granularity = Recompute::Granularity;
    struct Rule {
      std::string_view flag;
      bool agrees;
      std::string there;
    };
    const std::string dtype = format("dtype is {}", name_of(file_.dtype));
    const std::string recompute = format("recompute is {}", to_string(file_.recompute.granularity));
    const std::string batch = format("global_batch_size is {}", file_.global_batch_size);
    const std::string partition = file_.plan.partition.empty()
                                      ? format("the plan has {} stages", file_.plan.pp)
                                      : format("partition is {}", dashed(file_.plan.partition));
    const std::array rules{
        Rule{"--bf16", file_.dtype == DType::kBF16, dtype},
        Rule{"--fp16", file_.dtype == DType::kF16, dtype},
        Rule{"--use-distributed-optimizer", file_.plan.zero_stage == 1,
             format("zero is {}", file_.plan.zero_stage)},
        Rule{"--recompute-activations", file_.recompute.granularity == Granularity::kSelective, recompute},
        Rule{"--checkpoint-activations", file_.recompute.granularity == Granularity::kFull, recompute},
        Rule{"--activations-checkpoint-method", false, recompute},
        Rule{"--use-flash-attn", file_.fused_attention, "attention is unfused"},
        Rule{"--rampup-batch-size", false, batch},
        Rule{"--step-batch-size-schedule", false, batch},
        Rule{"--decoder-first-pipeline-num-layers", false, partition},
        Rule{"--decoder-last-pipeline-num-layers", false, partition},
        Rule{"--num-layers-per-virtual-pipeline-stage", false, partition},
        Rule{"--num-virtual-stages-per-pipeline-rank", false, partition},
    };
    for (const Rule& rule : rules)
      if (has(rule.flag) && flags_.given(rule.flag) && !rule.agrees)
        throw contradiction(rule.flag, rule.there);
  }

  Flags& flags_;
  const PlanFile& file_;
  std::string path_;
};

}  // namespace

FlagSpec plan_file_flag(std::string_view group) {
  return {.names = {"--plan"},
          .value = "FILE",
          .help =
              "a plan of 'nadi plan --emit': the model, the step, and how it is split over ranks; in place "
              "of MODEL and of the flags for these",
          .fallback = "none",
          .group = group};
}

PlannedFlags with_plan_file(const Flags& flags) {
  PlannedFlags planned{.flags = flags};
  const auto path = flags.text("--plan");
  if (!path) return planned;
  planned.path = *path;
  planned.file = read_plan_file(planned.path);
  PlanFiller(planned).fill();
  static_cast<void>(model_of_plan(*planned.file, planned.path, flags.text("--model-type").value_or("")));
  return planned;
}

}  // namespace nadi::inline show
