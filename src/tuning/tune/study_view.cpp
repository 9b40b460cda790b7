#include "nadi/tune/study_view.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "nadi/base/error.h"
#include "nadi/base/json.h"
#include "nadi/sampling/importance.h"
#include "nadi/sampling/pareto_front.h"
#include "nadi/tune/study_history.h"
#include "nadi/tune/value_text.h"

namespace nadi::inline tuning {
namespace {

std::vector<std::string> objective_names(const StudyView& view) {
  std::vector<std::string> names;
  if (view.tune) {
    for (const MetricSpec& metric : view.tune->trial.metrics) names.push_back(metric.name);
  } else if (const auto listed = view.study.system_attributes.find(kMetricNames);
             listed != view.study.system_attributes.end()) {
    const auto json = nlohmann::json::parse(listed->second, nullptr, false);
    if (json.is_array())
      for (const auto& name : json)
        if (name.is_string()) names.push_back(name.get<std::string>());
  }
  while (names.size() < view.study.directions.size())
    names.push_back(view.study.directions.size() == 1 ? "value" : "value " + std::to_string(names.size()));
  names.resize(view.study.directions.size());
  return names;
}

// Those of the space for a study of ours, else what trials had, in the order in which it turned up.
std::vector<ViewParameter> parameters_of(const StudyView& view) {
  std::vector<ViewParameter> parameters;
  if (view.tune) {
    for (const TuneParameter& parameter : view.tune->space.parameters)
      parameters.push_back({.name = parameter.name, .distribution = parameter.distribution});
    return parameters;
  }
  for (const StudyTrial& trial : view.trials)
    for (const TrialParameter& parameter : trial.parameters)
      if (std::ranges::find(parameters, parameter.name, &ViewParameter::name) == parameters.end())
        parameters.push_back({.name = parameter.name, .distribution = parameter.distribution});
  return parameters;
}

std::vector<std::int64_t> best_numbers(const StudyView& view) {
  std::vector<std::vector<double>> points;
  std::vector<std::int64_t> numbers;
  for (const StudyTrial& trial : view.trials) {
    if (trial.state != TrialState::kComplete || trial.values.size() != view.study.directions.size() ||
        !trial.is_feasible())
      continue;
    std::vector<double> point = trial.values;
    for (std::size_t i = 0; i < point.size(); ++i)
      if (view.maximizes(i)) point[i] = -point[i];
    points.push_back(std::move(point));
    numbers.push_back(trial.number);
  }
  if (points.empty()) return {};
  std::vector<std::size_t> front = pareto_front(points);
  std::ranges::stable_sort(front, {}, [&](std::size_t i) { return points[i][0]; });
  std::vector<std::int64_t> best;
  for (const std::size_t i : front) best.push_back(numbers[i]);
  if (view.study.directions.size() == 1) best.resize(1);  // the first of equal ones
  return best;
}

// A space that has all of what trials had: for studies of other programs.
TuneSpace seen_space(const StudyView& view) {
  TuneSpace space;
  for (const ViewParameter& parameter : view.parameters)
    space.parameters.push_back({.name = parameter.name, .distribution = parameter.distribution});
  return space;
}

}  // namespace

std::optional<double> StudyView::improvement(std::size_t objective) const {
  if (!baseline || best.empty()) return std::nullopt;
  const auto value = [&](std::int64_t number) {
    return trials[static_cast<std::size_t>(number)].values[objective];
  };
  const double from = value(*baseline);
  double to = value(best[0]);
  for (const std::int64_t number : best)
    to = maximizes(objective) ? std::max(to, value(number)) : std::min(to, value(number));
  if (from == 0 || !std::isfinite(from) || !std::isfinite(to)) return std::nullopt;
  return (maximizes(objective) ? to - from : from - to) / std::abs(from);
}

StudyView view_of_study(StudyStorage& storage, StudyId study, const std::string& file) {
  StudyView view{.file = file, .study = storage.study(study)};
  if (view.study.user_attributes.contains(kTuneAttribute)) view.tune = tune_study_of(view.study, file);
  const std::span<const StudyTrial> trials = storage.trials(study);
  view.trials.assign(trials.begin(), trials.end());
  view.objectives = objective_names(view);
  view.parameters = parameters_of(view);
  view.best = best_numbers(view);
  for (const StudyTrial& trial : view.trials)
    if (!view.baseline && trial.state == TrialState::kComplete && text_attribute(trial, kRole) == "baseline")
      view.baseline = trial.number;
  if (view.parameters.empty()) return view;
  const TuneSpace space = view.tune ? view.tune->space : seen_space(view);
  const SpacePoints points(space);
  StudyHistory history(points, view.study.directions);
  history.update(view.trials);
  for (std::size_t objective = 0; objective < view.study.directions.size(); ++objective) {
    const auto shares = parameter_importance(points.search_space(), history.view(), objective);
    for (std::size_t i = 0; i < view.parameters.size(); ++i)
      view.parameters[i].importance.push_back(i < shares.size() ? std::optional(shares[i]) : std::nullopt);
  }
  return view;
}

std::vector<std::string> objectives_without_differences(const StudyView& view) {
  constexpr std::size_t kFewest = 3;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < view.objectives.size(); ++i) {
    std::vector<double> values;
    for (const StudyTrial& trial : view.trials)
      if (trial.state == TrialState::kComplete && i < trial.values.size()) values.push_back(trial.values[i]);
    if (values.size() >= kFewest &&
        std::ranges::all_of(values, [&](double value) { return value == values.front(); }))
      names.push_back(view.objectives[i]);
  }
  return names;
}

std::string setting_text(const StudyTrial& trial) {
  std::string text;
  for (const TrialParameter& parameter : trial.parameters)
    text += (text.empty() ? "" : " ") + parameter.name + "=" + shown_text(parameter.external());
  return text;
}

std::optional<double> seconds_of(const StudyTrial& trial) {
  if (const auto seconds = number_attribute(trial, kSeconds)) return seconds;
  if (!trial.start || !trial.complete) return std::nullopt;
  return std::chrono::duration<double>(*trial.complete - *trial.start).count();
}

std::optional<TrialCommand> command_of_trial(const StudyView& view, const StudyTrial& trial) {
  if (!view.tune) return std::nullopt;
  const SpacePoints points(view.tune->space);
  const auto point = points.point_of(trial);
  if (!point) return std::nullopt;
  return command_for(
      view.tune->trial.command, view.tune->space, points.setting_of(*point),
      {.number = trial.number,
       .folder = trials_folder_of(view.file, view.study.name) / trial_folder_name(trial.number)});
}

}  // namespace nadi::inline tuning
