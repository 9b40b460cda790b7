#include "nadi/prediction/simulation_question.h"

#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/file_kind.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/chakra/trace_summary.h"
#include "nadi/cluster/catalogue.h"
#include "nadi/cluster/what_if.h"
#include "nadi/model/catalogue.h"
#include "nadi/sim/layer_times.h"
#include "nadi/step/step_settings.h"
#include "nadi/trace/file_patterns.h"

namespace nadi::inline ask {

namespace {

void check_ranks(std::int64_t ranks, const Cluster& cluster) {
  if (ranks > cluster.device_count())
    throw Error(ErrorKind::kInfeasible, {},
                format("{} ranks need as many devices, and {} has {}", with_thousands(ranks), cluster.name,
                       with_thousands(cluster.device_count())),
                "take a larger cluster ('dgx-h100x128' has 128 nodes), or a plan of fewer ranks");
}

Cluster cluster_for(const PredictionQuestion& question, std::int64_t ranks) {
  Cluster cluster = cluster_of(question).for_ranks(static_cast<std::int32_t>(ranks));
  check_ranks(ranks, cluster);
  return cluster;
}

SimulationOptions options_of(const SimulationConditions& conditions, const PredictionQuestion& on) {
  return {.network = conditions.network,
          .collective = on.collective,
          .faults = conditions.faults,
          .symmetry = conditions.symmetry,
          .slow = conditions.slow,
          .jitter = conditions.jitter,
          .links = conditions.links};
}

void assume_conditions(const SimulationConditions& conditions, PredictionAssumptions& assumed) {
  assumed.network = conditions.network;
  assumed.slow = conditions.slow;
  assumed.faults = conditions.faults;
  assumed.jitter = conditions.jitter;
}

// `simulate` and `figures` take a cluster.
template <typename Simulate, typename Figures>
std::vector<WhatIfAnswer> what_if_answers(const std::vector<std::string>& changes, const Cluster& cluster,
                                          const Simulate& simulate, const Figures& figures) {
  std::vector<WhatIfAnswer> answers;
  for (const std::string& change : changes) {
    Cluster other = cluster;
    apply_what_if(other, change);
    const SimulationResult changed = simulate(other);
    answers.push_back({.change = change,
                       .iteration_time = changed.iteration_time,
                       .dollars_per_step = figures(changed, other).dollars_per_step});
  }
  return answers;
}

const DeviceSpec* recorded_device(const std::string& name) {
  if (name.empty()) return nullptr;
  if (const DeviceSpec* device = find_device(name)) return device;
  std::vector<std::string> known;
  for (const DeviceSpec& device : catalogue_devices()) known.push_back(device.name);
  throw usage_error(format("recorded on: unknown device '{}'", name), did_you_mean(name, known));
}

}  // namespace

ResolvedSimulation resolve(const SimulationQuestion& question) {
  ResolvedSimulation asked{.step = resolve_step(question.step),
                           .cluster = {},
                           .assumed = {},
                           .options = options_of(question.conditions, question.on),
                           .what_if = question.conditions.what_if};
  ResolvedStep& step = asked.step;
  const std::int64_t ranks = step.plan.world_size();
  asked.cluster = cluster_for(question.on, ranks);
  asked.assumed = assume(question.on, asked.cluster, ranks, step);
  assume_conditions(question.conditions, asked.assumed);
  asked.options.overlap = asked.assumed.overlap;
  asked.options.placement = question.placement;
  if (!question.on.layer_times.empty())
    asked.options.retime =
        LayerTimes::read(question.on.layer_times).retime(step.config, step.request, step.plan);
  return asked;
}

SimulationAnswer simulate(ResolvedSimulation resolved) {
  SimulationAnswer answer{.asked = std::move(resolved),
                          .programs = nullptr,
                          .result = {},
                          .work = {},
                          .figures = {},
                          .what_if = {}};
  const ResolvedSimulation& asked = answer.asked;
  const ResolvedStep& step = asked.step;
  answer.work = step_work(step.config, step.request, step.plan);
  answer.programs = std::make_unique<const StagePrograms>(step.config, step.request, step.plan);
  const auto on = [&](const Cluster& cluster) {
    return simulate_step(*answer.programs, cluster, asked.options);
  };
  const auto figures = [&](const SimulationResult& result, const Cluster& cluster) {
    return simulation_figures(result, cluster, &answer.work, asked.options.placement);
  };
  answer.result = on(asked.cluster);
  answer.figures = figures(answer.result, asked.cluster);
  answer.what_if = what_if_answers(asked.what_if, asked.cluster, on, figures);
  return answer;
}

SimulationAnswer simulate(const SimulationQuestion& question) {
  return simulate(resolve(question));
}

SimulatedFileReport write_predicted_traces(const SimulationAnswer& answer,
                                           const std::filesystem::path& prefix,
                                           SimulatedFileOptions options) {
  options.metadata = trace_metadata(answer.asked.step);
  const DeviceSpec& device = answer.asked.cluster.device(DeviceId{0});
  options.metadata.emplace_back("device_kind", device.type == DeviceType::kGpu ? "GPU" : "CPU");
  options.metadata.emplace_back("device_name", device.product);
  return write_simulated_step(*answer.programs, answer.result, prefix, options);
}

bool name_traces(const std::vector<std::string>& words) {
  if (words.size() > 1) return true;
  const std::string& word = words[0];
  if (find_built_in_model(word) != nullptr) return false;
  if (word.ends_with(".et") || word.find_first_of("*?[") != std::string::npos || is_trace(word)) return true;
  if (is_trace_prefix(word)) return true;
  std::error_code ignored;
  const bool is_file = std::filesystem::is_regular_file(word, ignored);
  return is_file && kind_of_file(word) != FileKind::kModelConfig && !word.ends_with("config.json");
}

std::int64_t recorded_ranks(const TraceSet& traces) {
  return traces.traces().empty() ? 1 : traces.traces().back().rank + 1;
}

TraceSimulationAnswer simulate(const TraceSet& set, const TraceSimulationQuestion& question) {
  const PredictionQuestion& on = question.on;
  if (!on.framework.empty() || on.gradient_dtype || !on.layer_times.empty())
    throw usage_error("framework, type of gradients and layer times are for models, and traces have theirs");
  TraceSimulationOptions traces{.ranks = question.ranks,
                                .recorded_on = recorded_device(question.recorded_on)};
  if (!question.degrees.empty() && !question.ranks)
    throw usage_error("degrees of the recorded run need the number of ranks that run it",
                      "they say how the recorded run is scaled");
  if (!question.degrees.empty()) traces.degrees = parse_trace_degrees(question.degrees, recorded_ranks(set));
  Cluster cluster = cluster_for(on, question.ranks.value_or(recorded_ranks(set)));
  const std::size_t files = set.traces().size();
  TraceSimulationAnswer answer{.subject = files == 1 && !question.files.empty()
                                              ? question.files[0]
                                              : format("{} trace{}", files, files == 1 ? "" : "s"),
                               .cluster = std::move(cluster),
                               .assumed = {.collective = on.collective},
                               .result = {},
                               .figures = {},
                               .what_if = {}};
  answer.assumed.prices = prices_of(answer.cluster);
  assume_conditions(question.conditions, answer.assumed);
  const bool other_device =
      traces.recorded_on != nullptr && traces.recorded_on->name != answer.cluster.device(DeviceId{0}).name;
  traces.durations =
      question.durations.value_or(other_device ? TraceDurations::kModel : TraceDurations::kRecorded);
  const SimulationOptions options = options_of(question.conditions, on);
  const auto simulated = [&](const Cluster& cluster) {
    return simulate_traces(set, cluster, options, traces);
  };
  const auto figures = [&](const SimulationResult& result, const Cluster& cluster) {
    return simulation_figures(result, cluster, nullptr);
  };
  answer.result = simulated(answer.cluster);
  answer.figures = figures(answer.result, answer.cluster);
  answer.what_if = what_if_answers(question.conditions.what_if, answer.cluster, simulated, figures);
  return answer;
}

TraceSimulationAnswer simulate(const TraceSimulationQuestion& question) {
  return simulate(read_trace_set(expand_traces(question.files), question.reading), question);
}

}  // namespace nadi::inline ask
