#include "nadi/draw/tune_page_of_study.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "nadi/base/format.h"

namespace nadi::inline show {
namespace {

// Points of a trial's course that a page shows: more cannot be told apart.
constexpr std::size_t kMostCoursePoints = 200;

TunePageParameter page_parameter(const ViewParameter& parameter) {
  TunePageParameter shown{.name = parameter.name};
  if (const auto* range = std::get_if<FloatDistribution>(&*parameter.distribution)) {
    shown.log = range->log;
    shown.low = range->low;
    shown.high = range->high;
  } else if (const auto* whole = std::get_if<IntDistribution>(&*parameter.distribution)) {
    shown.log = whole->log;
    shown.low = static_cast<double>(whole->low);
    shown.high = static_cast<double>(whole->high);
  } else {
    for (const ParameterValue& choice : std::get<CategoricalDistribution>(*parameter.distribution).choices)
      shown.choices.push_back(to_text(choice));
  }
  shown.importance = parameter.importance;
  return shown;
}

TunePageTrial page_trial(const StudyView& view, const StudyTrial& trial,
                         const std::optional<StudyTime>& zero) {
  TunePageTrial shown{
      .number = trial.number, .state = std::string(to_string(trial.state)), .values = trial.values};
  for (const ViewParameter& parameter : view.parameters) {
    const TrialParameter* known = trial.find(parameter.name);
    const auto inside =
        known == nullptr ? std::nullopt : internal_value(*parameter.distribution, known->external());
    shown.point.push_back(inside);
  }
  const std::size_t every = trial.intermediate_values.size() / kMostCoursePoints + 1;
  std::size_t at = 0;
  for (const auto& [step, value] : trial.intermediate_values)
    if (at++ % every == 0) shown.intermediate.emplace_back(step, value);
  const auto since = [&](const std::optional<StudyTime>& time) -> std::optional<double> {
    if (!time || !zero) return std::nullopt;
    return std::chrono::duration<double>(*time - *zero).count();
  };
  shown.seconds = seconds_of(trial);
  shown.begin = since(trial.start);
  shown.end = since(trial.complete);
  shown.outcome = text_attribute(trial, kOutcome).value_or("");
  shown.reason = text_attribute(trial, kReason).value_or("");
  shown.role = text_attribute(trial, kRole).value_or("");
  shown.setting = setting_text(trial);
  shown.best = std::ranges::find(view.best, trial.number) != view.best.end();
  return shown;
}

}  // namespace

TunePage page_of_study(const StudyView& view) {
  TunePage page{.title = format("Study '{}'", view.study.name), .subtitle = view.file};
  for (std::size_t i = 0; i < view.objectives.size(); ++i)
    page.objectives.push_back({.name = view.objectives[i], .maximize = view.maximizes(i)});
  for (const ViewParameter& parameter : view.parameters) page.parameters.push_back(page_parameter(parameter));
  std::optional<StudyTime> zero;
  for (const StudyTrial& trial : view.trials)
    if (trial.start && (!zero || *trial.start < *zero)) zero = trial.start;
  for (const StudyTrial& trial : view.trials) page.trials.push_back(page_trial(view, trial, zero));
  page.baseline = view.baseline;
  // Several objectives have no one best trial.
  if (!view.best.empty() && view.objectives.size() == 1)
    if (const auto command = command_of_trial(view, view.trials[static_cast<std::size_t>(view.best[0])]))
      page.command = shell_text(*command);
  if (view.tune)
    page.notes.push_back(format("sampler {}, pruner {}, {} repetition{} of each trial",
                                view.tune->sampler.name, view.tune->pruner.name, view.tune->trial.repeat,
                                view.tune->trial.repeat == 1 ? "" : "s"));
  return page;
}

}  // namespace nadi::inline show
