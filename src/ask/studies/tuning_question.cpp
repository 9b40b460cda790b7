#include "nadi/studies/tuning_question.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/base/read_error.h"
#include "nadi/model/config_file.h"
#include "nadi/tune/preset.h"

namespace nadi::inline ask {
namespace {

constexpr std::int64_t kMostTrials = 1'000'000;
constexpr std::int64_t kMostRepetitions = 1000;
constexpr std::uintmax_t kMostTemplateBytes = 1 << 20;

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

// Each with a name of its own.
std::vector<MetricSpec> named_metrics(const TuningQuestion& question) {
  std::vector<MetricSpec> metrics;
  for (const MetricSpec& asked : question.metrics) {
    metrics.push_back(asked);
    MetricSpec& metric = metrics.back();
    if (metrics.size() > 1 && metric.name == "metric") metric.name = format("metric {}", metrics.size());
    if (std::ranges::count(metrics, metric.name, &MetricSpec::name) > 1)
      throw usage_error(format("two metrics are named '{}'", metric.name));
  }
  if (metrics.empty() && question.directions.empty()) metrics.push_back(metric_of_text("runtime"));
  return metrics;
}

std::vector<MetricSpec> metrics_of(const TuningQuestion& question) {
  std::vector<MetricSpec> metrics = named_metrics(question);
  std::vector<std::string> directed;
  for (const auto& [name, direction] : question.directions) {
    if (std::ranges::find(directed, name) != directed.end())
      throw usage_error(format("'{}' has two directions", name));
    metric_named(metrics, name).direction = direction;
    directed.push_back(name);
  }
  for (MetricSpec& metric : metrics) {
    if (std::ranges::find(directed, metric.name) != directed.end()) continue;
    const bool is_cost = metric.source == MetricSource::kRuntime || metric.source == MetricSource::kExitCode;
    if (!question.direction && !is_cost)
      throw usage_error(
          format("the direction of {} is not given", metric.name == "metric" ? "the metric" : metric.name),
          "say whether less of it is better, or more");
    metric.direction = question.direction.value_or(StudyDirection::kMinimize);
  }
  for (MetricSpec& metric : metrics) {
    if (!metric.of_output()) continue;
    metric.reduction = question.reduction.value_or(metric.reduction);
    metric.warmup = question.warmup;
  }
  return metrics;
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

CommandTemplate command_of(const TuningQuestion& question) {
  CommandTemplate command = question.command;
  for (const std::string& path : question.templates) {
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

TuneSpace space_of(const TuningQuestion& question, const PlannedRun& planned) {
  TuneSpace space;
  for (const std::string& name : question.presets) space.merge(preset_space(name));
  for (const std::string& path : question.spaces) space.merge(read_tune_space(path));
  for (const TuneParameter& parameter : question.parameters) space.add(parameter);
  if (space.parameters.empty())
    throw usage_error("there is nothing to tune", "name a parameter and its values");
  set_known_constants(planned, space);
  add_planned_partition(planned, question.partition_words, space);
  for (const auto& [name, value] : question.constants) space.set_constant(name, value);
  for (const TuneConstraint& constraint : question.constraints) space.constraints.push_back(constraint);
  for (const auto& [name, value] : question.defaults) space.set_fallback(name, value);
  space.check();
  return space;
}

}  // namespace

void check_trials(std::int64_t trials) {
  if (trials > kMostTrials) throw usage_error(format("{} trials; the limit is {}", trials, kMostTrials));
}

TuneStudy resolve(const TuningQuestion& question) {
  TuneStudy tune;
  tune.planned = resolve_planned(question.planned);
  tune.space = space_of(question, tune.planned);
  tune.trial.command = command_of(question);
  check_command(tune.trial.command, tune.space);
  tune.trial.metrics = metrics_of(question);
  tune.trial.limits = question.limits;
  const auto share = question.limits.gpu.memory_share;
  if (share && (*share <= 0 || *share > 1))
    throw usage_error(format("{} of the memory of a GPU: a share above 0 and up to 1", *share));
  tune.trial.repeat = question.repeat;
  if (tune.trial.repeat > kMostRepetitions)
    throw usage_error(format("{} repetitions; the limit is {}", tune.trial.repeat, kMostRepetitions));
  tune.sampler = question.sampler;
  tune.pruner = question.pruner;
  tune.pruner.seed = tune.sampler.seed;
  make_pruner(tune.pruner);  // for what it refuses
  tune.trials = question.trials.value_or(kDefaultTrials);
  check_trials(tune.trials);
  tune.baseline =
      !question.defaults.empty() ||
      (!tune.planned.any() && std::ranges::any_of(tune.space.parameters, [](const TuneParameter& parameter) {
        return parameter.fallback.has_value();
      }));
  tune.working_folder = std::filesystem::current_path().string();
  return tune;
}

}  // namespace nadi::inline ask
