#include "nadi/cli/tune_flags.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <sstream>
#include <thread>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/base/parse_duration.h"
#include "nadi/base/read_error.h"
#include "nadi/cli/tune_planner.h"
#include "nadi/cli/tune_pruner_flags.h"
#include "nadi/command_line/flags.h"
#include "nadi/model/config_file.h"
#include "nadi/terminal/console.h"
#include "nadi/tune/preset.h"

namespace nadi::inline show {
namespace {

constexpr std::int64_t kDefaultTrials = 50;
constexpr std::int64_t kMostTrials = 1'000'000;
constexpr std::int64_t kMostTuneWorkers = 256;
constexpr std::int64_t kMostRepetitions = 1000;
constexpr std::uintmax_t kMostTemplateBytes = 1 << 20;

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

MetricSpec& metric_named(std::vector<MetricSpec>& metrics, std::string_view name) {
  const auto found = std::ranges::find(metrics, name, &MetricSpec::name);
  if (found != metrics.end()) return *found;
  if (name == "runtime" || name == "exit-code") {
    metrics.push_back(metric_of_text(name));
    return metrics.back();
  }
  std::vector<std::string> known{"runtime", "exit-code"};
  for (const MetricSpec& metric : metrics) known.push_back(metric.name);
  throw usage_error(format("no metric '{}'", name), did_you_mean(name, known));
}

std::vector<MetricSpec> resolve_metrics(const Flags& flags) {
  std::vector<MetricSpec> metrics;
  for (const std::string& text : flags.texts("--metric")) {
    metrics.push_back(metric_of_text(text));
    MetricSpec& metric = metrics.back();
    if (metrics.size() > 1 && metric.name == "metric") metric.name = format("metric {}", metrics.size());
    for (std::size_t i = 0; i + 1 < metrics.size(); ++i)
      if (metrics[i].name == metric.name)
        throw usage_error(format("two metrics are named '{}'", metric.name));
  }
  // Which way each is better. Unnamed: all that are not named elsewhere.
  std::vector<std::pair<std::string, StudyDirection>> named;
  std::optional<StudyDirection> rest;
  const auto read = [&](std::string_view flag, StudyDirection direction) {
    for (const std::string& name : flags.texts(flag)) {
      if (name.empty()) {
        if (rest && *rest != direction)
          throw usage_error("--minimize and --maximize contradict each other", "name a metric after them");
        rest = direction;
      } else {
        named.emplace_back(name, direction);
      }
    }
  };
  read("--minimize", StudyDirection::kMinimize);
  read("--maximize", StudyDirection::kMaximize);
  if (metrics.empty() && named.empty()) {
    metrics.push_back(metric_of_text("runtime"));
    if (!rest) rest = StudyDirection::kMinimize;
  }
  std::vector<std::string> directed;
  for (const auto& [name, direction] : named) {
    if (std::ranges::find(directed, name) != directed.end())
      throw usage_error(format("'{}' is named twice by --minimize and --maximize", name));
    metric_named(metrics, name).direction = direction;
    directed.push_back(name);
  }
  for (MetricSpec& metric : metrics) {
    if (std::ranges::find(directed, metric.name) != directed.end()) continue;
    const bool is_cost = metric.source == MetricSource::kRuntime || metric.source == MetricSource::kExitCode;
    if (!rest && !is_cost)
      throw usage_error(
          format("the direction of {} is not given", metric.name == "metric" ? "the metric" : metric.name),
          "pass --minimize or --maximize");
    metric.direction = rest.value_or(StudyDirection::kMinimize);
  }
  const auto reduction = flags.choice("--metric-of");
  const std::int64_t warmup = flags.integer("--metric-warmup", 0).value_or(0);
  bool of_output = false;
  for (MetricSpec& metric : metrics) {
    of_output = of_output || metric.of_output();
    if (!metric.of_output()) continue;
    if (reduction) metric.reduction = metric_reductions()[*reduction].reduction;
    metric.warmup = warmup;
  }
  for (const std::string_view flag : {"--metric-of", "--metric-warmup"})
    if (flags.given(flag) && !of_output)
      throw usage_error(format("{} needs a metric that is read from the output", flag),
                        "--metric PATTERN reads some");
  return metrics;
}

ProcessLimits resolve_process_limits(const Flags& flags) {
  ProcessLimits limits;
  limits.timeout = duration_flag(flags, "--timeout");
  if (const auto grace = duration_flag(flags, "--grace")) limits.grace = *grace;
  limits.gpu.memory_share = flags.number("--gpu-memory-limit");
  if (limits.gpu.memory_share && (*limits.gpu.memory_share == 0 || *limits.gpu.memory_share > 1))
    throw usage_error(format("--gpu-memory-limit {}: a share above 0 and up to 1", *limits.gpu.memory_share));
  limits.gpu.least_utilisation = flags.number("--gpu-utilization-floor", 100.0001);
  limits.gpu.temperature = flags.number("--gpu-temperature-limit");
  return limits;
}

std::string template_text(const std::string& path) {
  std::error_code failure;
  const auto size = std::filesystem::file_size(path, failure);
  if (failure) throw no_such_file(path);
  if (size > kMostTemplateBytes)
    throw input_error({.file = path},
                      format("a template of {} bytes; the limit is {}", size, kMostTemplateBytes));
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw input_error({.file = path}, "cannot be read");
  return text.str();
}

CommandTemplate resolve_command(const Flags& flags) {
  CommandTemplate command{.words = flags.rest()};
  for (const std::string& text : flags.texts("--env")) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw usage_error(format("--env '{}' is not of the form NAME=VALUE", text));
    command.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  for (const std::string& path : flags.texts("--template")) {
    for (const CommandFile& other : command.templates)
      if (other.path.filename() == std::filesystem::path(path).filename())
        throw usage_error(format("two templates are named {}", other.path.filename().string()));
    command.templates.push_back({.path = path, .text = template_text(path)});
  }
  return command;
}

// What expressions of presets may ask for.
void set_known_constants(const PlannedRun& planned, TuneSpace& space) {
  const auto set = [&](std::string_view name, std::int64_t value) {
    if (space.find_constant(name) != nullptr && value > 0) space.set_constant(name, value);
  };
  set("cores", std::max(1U, std::thread::hardware_concurrency()));
  set("gpus", planned.gpus);
  set("global_batch_size", planned.global_batch_size);
  set("seq_length", planned.seq_length);
  if (planned.model.empty()) return;
  const ModelConfig config = load_model_config(planned.model);
  set("num_layers", config.layers);
  set("num_heads", config.heads);
  set("num_kv_heads", config.kv_heads);
  if (planned.seq_length == 0) set("seq_length", config.positions);
}

TuneSpace resolve_tune_space(const Flags& flags, const PlannedRun& planned) {
  TuneSpace space;
  for (const std::string& name : flags.texts("--preset")) space.merge(preset_space(name));
  for (const std::string& path : flags.texts("--space")) space.merge(read_tune_space(path));
  for (const std::string& text : flags.texts("--param")) space.add(parameter_of_text(text));
  if (space.parameters.empty())
    throw usage_error("there is nothing to tune",
                      "--param NAME=VALUES, --space FILE or --preset NAME says what");
  set_known_constants(planned, space);
  add_planned_partition(planned, space);
  for (const std::string& text : flags.texts("--constant")) {
    const auto [name, value] = assignment_of_text(text, "--constant");
    space.set_constant(name, value);
  }
  std::size_t number = 0;
  for (const std::string& text : flags.texts("--constraint"))
    space.constraints.push_back({.expression = Expression::parse(text, format("--constraint {}", ++number))});
  for (const std::string& text : flags.texts("--default")) {
    const auto [name, value] = assignment_of_text(text, "--default");
    space.set_fallback(name, value);
  }
  space.check();
  return space;
}

}  // namespace

std::string_view default_study_file() {
  return has_sqlite() ? "tune.db" : "tune.journal";
}

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

std::optional<std::int64_t> trials_flag(const Flags& flags) {
  const auto trials = flags.integer("--trials");
  if (trials && *trials > kMostTrials)
    throw usage_error(format("--trials {}; the limit is {}", *trials, kMostTrials));
  return trials;
}

TuneStudy resolve_tune(const Flags& flags) {
  TuneStudy tune;
  tune.planned = resolve_planned(flags);
  tune.space = resolve_tune_space(flags, tune.planned);
  tune.trial.command = resolve_command(flags);
  check_command(tune.trial.command, tune.space);
  tune.trial.metrics = resolve_metrics(flags);
  tune.trial.limits = resolve_process_limits(flags);
  tune.trial.repeat = flags.integer("--repeat").value_or(1);
  if (tune.trial.repeat > kMostRepetitions)
    throw usage_error(format("--repeat {}; the limit is {}", tune.trial.repeat, kMostRepetitions));
  if (const auto name = flags.text("--sampler")) tune.sampler.name = *name;
  tune.sampler.seed = static_cast<std::uint64_t>(flags.integer("--seed", 0).value_or(0));
  tune.pruner = resolve_pruner(flags, tune.sampler.seed);
  tune.trials = trials_flag(flags).value_or(kDefaultTrials);
  tune.baseline =
      flags.given("--default") ||
      (!tune.planned.any() && std::ranges::any_of(tune.space.parameters, [](const TuneParameter& parameter) {
        return parameter.fallback.has_value();
      }));
  tune.working_folder = std::filesystem::current_path().string();
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
