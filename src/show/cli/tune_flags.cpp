#include "nadi/cli/tune_flags.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/parse_duration.h"
#include "nadi/cli/tune_pruner_flags.h"
#include "nadi/command_line/flags.h"
#include "nadi/megatron/plan_flags.h"
#include "nadi/step/step_question.h"
#include "nadi/studies/study_start.h"
#include "nadi/studies/tuning_question.h"
#include "nadi/terminal/console.h"
#include "nadi/tune/preset.h"

namespace nadi::inline show {
namespace {

constexpr std::int64_t kMostTuneWorkers = 256;

std::vector<std::string_view> reduction_names() {
  std::vector<std::string_view> names;
  for (const ReductionEntry& entry : metric_reductions()) names.push_back(entry.name);
  return names;
}

std::vector<std::string_view> sampler_names() {
  std::vector<std::string_view> names;
  for (const SamplerDescription& entry : sampler_descriptions()) names.push_back(entry.name);
  return names;
}

std::string described_samplers() {
  std::string text;
  for (const SamplerDescription& entry : sampler_descriptions())
    text += format("{}{}: {}", text.empty() ? "" : "; ", entry.name, entry.summary);
  return text;
}

std::optional<std::chrono::milliseconds> duration_flag(const Flags& flags, std::string_view flag) {
  const auto text = flags.text(flag);
  if (!text) return std::nullopt;
  const auto duration = parse_duration(*text);
  if (!duration || duration->count() <= 0)
    throw usage_error(format("{} takes a time above 0, not '{}'", flag, *text), "90s, 10min");
  return std::chrono::milliseconds(std::max<std::int64_t>(1, duration->count() / 1'000'000));
}

void add_space_flags_of_tune(Flags& flags) {
  FlagHeading group(flags, "what is tuned");
  group.value(
      "--param", "NAME=VALUES",
      "a parameter: micro_batch=1,2,4, layers=0..80, layers=0..80:step=8, lr=1e-5..1e-2:log; env.NAME=... is "
      "a variable "
      "of the environment, flag.NAME=... a flag of PROGRAM",
      "none", {.repeatable = true});
  group.value("--space", "FILE", "a file with parameters, conditions and constraints: see docs/tuning.md",
              "none", {.repeatable = true});
  group.value("--preset", "NAME",
              "a space that comes with Nadi: its parameters, constraints, and how PROGRAM gets them", "none",
              {.choices = preset_names(), .repeatable = true});
  group.value("--constraint", "EXPRESSION", "what must hold: \"gpus % (tensor * pipeline) == 0\"", "none",
              {.repeatable = true});
  group.value("--constant", "NAME=VALUE", "a number or text for constraints and {{NAME}}", "none",
              {.repeatable = true});
  group.value("--default", "NAME=VALUE", "a value of the baseline, which is tried first", "none",
              {.repeatable = true});
  group.value("--env", "NAME=VALUE", "a variable of PROGRAM's environment; {{NAME}} in it is filled in",
              "none", {.repeatable = true});
  group.value("--template", "FILE",
              "a file that is copied into the folder of each trial, {{folder}}, with {{NAME}} filled in",
              "none", {.repeatable = true});
}

void add_metric_flags(Flags& flags) {
  FlagHeading group(flags, "what is best");
  group.value("--metric", "SOURCE",
              "the figure: a pattern with one group for lines of the output, json:KEY, json:FILE#KEY, "
              "runtime or "
              "exit-code; NAME=pattern:..., NAME=json:... name it",
              "runtime", {.repeatable = true});
  group.value("--minimize", "[NAME]",
              "less is better: of all metrics, or of this one; runtime and exit-code need no --metric",
              "runtime", {.repeatable = true});
  group.value("--maximize", "[NAME]", "more is better", "none", {.repeatable = true});
  group.value("--metric-of", "HOW", "one figure from all that a trial prints", "last",
              {.choices = reduction_names()});
  group.value("--metric-warmup", "N", "figures at the start of a trial that do not count", "0");
  group.value("--repeat", "N", "run each trial N times; the median counts, and the noise is shown", "1");
}

void add_limit_flags(Flags& flags) {
  FlagHeading group(flags, "when a trial is ended");
  group.value("--timeout", "TIME", "a trial may take so long: 90s, 10min", "any");
  group.value("--grace", "TIME", "between SIGTERM and SIGKILL", "5s");
  group.value("--gpu-memory-limit", "SHARE", "a trial may fill so much of the memory of any GPU: 0.95",
              "any");
  group.value("--gpu-utilization-floor", "PERCENT", "GPUs must be busy so much after 30 s", "any");
  group.value("--gpu-temperature-limit", "CELSIUS", "no GPU may become hotter", "any");
}

// Which way each metric is better. Unnamed: all that are not named elsewhere.
void take_directions(const Flags& flags, TuningQuestion& question) {
  const auto read = [&](std::string_view flag, StudyDirection direction) {
    for (const std::string& name : flags.texts(flag)) {
      if (!name.empty()) {
        question.directions.emplace_back(name, direction);
        continue;
      }
      if (question.direction && *question.direction != direction)
        throw usage_error("--minimize and --maximize contradict each other", "name a metric after them");
      question.direction = direction;
    }
  };
  read("--minimize", StudyDirection::kMinimize);
  read("--maximize", StudyDirection::kMaximize);
}

ProcessLimits process_limits(const Flags& flags) {
  ProcessLimits limits;
  limits.timeout = duration_flag(flags, "--timeout");
  if (const auto grace = duration_flag(flags, "--grace")) limits.grace = *grace;
  limits.gpu.memory_share = flags.number("--gpu-memory-limit");
  limits.gpu.least_utilisation = flags.number("--gpu-utilization-floor", 100.0001);
  limits.gpu.temperature = flags.number("--gpu-temperature-limit");
  return limits;
}

CommandTemplate command_template(const Flags& flags) {
  CommandTemplate command{.words = flags.rest()};
  for (const std::string& text : flags.texts("--env")) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw usage_error(format("--env '{}' is not of the form NAME=VALUE", text));
    command.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return command;
}

void take_space(const Flags& flags, TuningQuestion& question) {
  question.presets = flags.texts("--preset");
  question.spaces = flags.texts("--space");
  for (const std::string& text : flags.texts("--param"))
    question.parameters.push_back(parameter_of_text(text));
  for (const std::string& text : flags.texts("--constant"))
    question.constants.push_back(assignment_of_text(text, "--constant"));
  for (const std::string& text : flags.texts("--default"))
    question.defaults.push_back(assignment_of_text(text, "--default"));
  std::size_t number = 0;
  for (const std::string& text : flags.texts("--constraint"))
    question.constraints.push_back(
        {.expression = Expression::parse(text, format("--constraint {}", ++number))});
}

void add_planner_flags(Flags& flags) {
  FlagHeading group(flags, "the planner, for spaces of plans (--preset megatron)");
  group.value("--model", "MODEL", "what PROGRAM trains: a built-in model, a config.json, a checkpoint folder",
              "none");
  group.value({"--cluster", "--hw-config"}, "NAME",
              "the hardware: the planner's best plan is tried first, and what does not fit is never tried",
              "none");
  group.value("--gpus", "N", "GPUs that PROGRAM uses", "all of --cluster");
  group.value("--global-batch-size", "N", "sequences of a step", "the preset's");
  group.value("--seq-length", "N", "tokens per sequence", "the model's");
  group.value("--dtype", "TYPE", "type of parameters and activations: fp32, bf16, fp16", kDefaultDtypeRule);
  group.value(
      "--plan", "FILE",
      "a plan of 'nadi plan --emit', which is tried first; its model, cluster and batch stand in for the "
      "flags "
      "above",
      "none");
}

PlannedRun planned_run(const Flags& flags) {
  for (const std::string_view flag :
       {"--model", "--cluster", "--global-batch-size", "--seq-length", "--dtype"})
    if (flags.given("--plan") && flags.given(flag))
      throw usage_error(format("--plan and {} contradict each other", flag), "the plan says it");
  if (flags.given("--cluster") && !flags.given("--model"))
    throw usage_error("--cluster needs --model", "the planner plans a model");
  if (flags.given("--cluster") && !flags.given("--global-batch-size"))
    throw usage_error("--cluster needs --global-batch-size", "the planner splits that batch over the ranks");
  return {.model = flags.text("--model").value_or(""),
          .cluster = flags.text("--cluster").value_or(""),
          .plan_file = flags.text("--plan").value_or(""),
          .gpus = flags.integer("--gpus").value_or(0),
          .global_batch_size = flags.integer("--global-batch-size").value_or(0),
          .seq_length = flags.integer("--seq-length").value_or(0),
          .dtype = flags.text("--dtype").value_or("")};
}

// The flags of Megatron-LM that spread layers unevenly.
std::vector<std::string> megatron_partition_words(const ModelConfig& config, const PlanFile& file) {
  constexpr std::array<std::string_view, 3> kFlags{"--decoder-first-pipeline-num-layers",
                                                   "--decoder-last-pipeline-num-layers",
                                                   "--pipeline-model-parallel-layout"};
  std::vector<std::string> words;
  for (const MegatronPlanFlag& flag : megatron_plan_flags(config, file).flags) {
    if (flag.use != MegatronPlanFlag::Use::kGiven || std::ranges::find(kFlags, flag.name) == kFlags.end())
      continue;
    words.push_back(flag.name);
    words.insert(words.end(), flag.values.begin(), flag.values.end());
  }
  return words;
}

}  // namespace

void add_study_name_flag(Flags& flags) {
  flags.value("--name", "NAME", "which study of the file", "the only one");
}

void add_tuning_flags(Flags& flags, std::string trials_fallback) {
  FlagHeading group(flags, "how long, and how many at once");
  group.value("--trials", "N", "trials of the study in all, by all who work on it",
              std::move(trials_fallback));
  group.value("--time-limit", "TIME", "begin no trial after it: 90min", "none");
  group.value("--workers", "N", "trials at a time; more machines join with 'nadi tune resume'", "1");
  group.value("--max-failures", "N", "give up when the first N trials all fail", "10");
  group.toggle("--no-logs", "keep no log of each trial");
  FlagHeading output(flags, "output");
  output.toggle("--json", "print JSON: see docs/json.md");
}

void add_tune_flags(Flags& flags) {
  flags.set_rest({.name = "PROGRAM",
                  .help = "what each trial runs, with its arguments, after '--'; {{NAME}} in it is the value "
                          "of a parameter"});
  add_space_flags_of_tune(flags);
  add_metric_flags(flags);
  FlagHeading group(flags, "the study");
  group.value(
      "--study", "FILE",
      std::string(has_sqlite() ? "where the study is kept, as an SQLite file; NAME.journal is a journal"
                               : "where the study is kept, as a journal: NAME.journal. This build has no "
                                 "SQLite") +
          "; postgresql://USER@HOST/DATABASE is a server, for workers on several machines. Optuna opens "
          "them",
      std::string(default_study_file()));
  group.value("--name", "NAME", "its name in the file", std::string(kDefaultStudyName));
  group.value("--sampler", "NAME", format("what proposes trials. {}", described_samplers()),
              SamplerSettings{}.name, {.choices = sampler_names()});
  group.value("--seed", "N", "seed of the sampler", "0");
  add_limit_flags(flags);
  add_pruner_flags(flags);
  add_planner_flags(flags);
  add_tuning_flags(flags, format("{}", kDefaultTrials));
  FlagHeading output(flags, "output");
  output.toggle("--dry-run", "print the space and the first commands, and run nothing");
  flags.show_first({"--param", "--space", "--preset", "--metric", "--minimize", "--maximize", "--trials",
                    "--default", "--study", "--workers", "--timeout", "--repeat", "--json"});
}

TuneStudy resolve_tune(const Flags& flags) {
  TuningQuestion question{.command = command_template(flags), .templates = flags.texts("--template")};
  take_space(flags, question);
  for (const std::string& text : flags.texts("--metric")) question.metrics.push_back(metric_of_text(text));
  take_directions(flags, question);
  if (const auto reduction = flags.choice("--metric-of"))
    question.reduction = metric_reductions()[*reduction].reduction;
  question.warmup = flags.integer("--metric-warmup", 0).value_or(0);
  question.limits = process_limits(flags);
  question.repeat = flags.integer("--repeat").value_or(1);
  if (const auto name = flags.text("--sampler")) question.sampler.name = *name;
  question.sampler.seed = static_cast<std::uint64_t>(flags.integer("--seed", 0).value_or(0));
  question.pruner = pruner_settings(flags);
  question.trials = flags.integer("--trials");
  question.planned = planned_run(flags);
  question.partition_words = megatron_partition_words;
  TuneStudy tune = resolve(question);
  for (const std::string_view flag : {"--metric-of", "--metric-warmup"})
    if (flags.given(flag) && std::ranges::none_of(tune.trial.metrics, &MetricSpec::of_output))
      throw usage_error(format("{} needs a metric that is read from the output", flag),
                        "--metric PATTERN reads some");
  return tune;
}

TunerOptions resolve_tuner(const Flags& flags, const std::filesystem::path& storage, const std::string& study,
                           Console& console) {
  TunerOptions options{.storage = storage, .study = study};
  const std::int64_t workers = flags.integer("--workers").value_or(1);
  if (workers > kMostTuneWorkers)
    throw usage_error(format("--workers {}; the limit is {}", workers, kMostTuneWorkers));
  options.workers = static_cast<int>(workers);
  options.time_limit = duration_flag(flags, "--time-limit");
  options.most_failures = flags.integer("--max-failures").value_or(options.most_failures);
  options.trials_folder = trials_folder_of(storage, study);
  options.keep_logs = !flags.given("--no-logs");
  options.interrupted = [&console] { return console.interrupted(); };
  return options;
}

}  // namespace nadi::inline show
