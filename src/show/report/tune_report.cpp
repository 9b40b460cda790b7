#include "nadi/report/tune_report.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ostream>

#include "nadi/base/format.h"
#include "nadi/base/units.h"
#include "nadi/base/version.h"
#include "nadi/tune/study_history.h"
#include "nadi/tune/value_text.h"

namespace nadi::inline show {
namespace {

constexpr std::size_t kShownTrials = 10;
// Fronts of several objectives are shown up to this length in the summary.
constexpr std::size_t kShownFront = 10;

Json json_of_parameter_value(const ParameterValue& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return nullptr;
}

// By merit of the first objective; what has no value comes last, by state and number.
std::vector<const StudyTrial*> ranked_trials(const StudyView& view) {
  std::vector<const StudyTrial*> trials;
  for (const StudyTrial& trial : view.trials) trials.push_back(&trial);
  const auto place = [&](const StudyTrial* trial) {
    const bool complete = trial->state == TrialState::kComplete && !trial->values.empty();
    const double value = complete ? (view.maximizes(0) ? -trial->values[0] : trial->values[0]) : 0;
    return std::tuple(complete                              ? 0
                      : trial->state == TrialState::kPruned ? 1
                      : trial->state == TrialState::kFail   ? 2
                                                            : 3,
                      value, trial->number);
  };
  std::ranges::sort(trials, {}, place);
  return trials;
}

ReportCell known_text(const std::string& text) {
  return text.empty() ? ReportCell(std::monostate{}) : ReportCell(text);
}

std::string state_text(const StudyTrial& trial) {
  const auto outcome = text_attribute(trial, kOutcome);
  if (trial.user_attribute(kFromTrial) != nullptr) return "from memory";
  return outcome ? *outcome : std::string(to_string(trial.state));
}

std::string counts_text(const StudyView& view) {
  const auto not_started = std::ranges::count_if(view.trials, could_not_start);
  const auto trials = std::ssize(view.trials) - not_started;
  std::string text = format("{} trial{}", trials, trials == 1 ? "" : "s");
  for (const TrialState state : {TrialState::kComplete, TrialState::kPruned, TrialState::kFail,
                                 TrialState::kRunning, TrialState::kWaiting}) {
    auto count = std::ranges::count(view.trials, state, &StudyTrial::state);
    if (state == TrialState::kFail) count -= not_started;
    if (count > 0) text += format(", {} {}", count, state == TrialState::kFail ? "failed" : to_string(state));
  }
  if (not_started > 0) text += format("; not counted: {} whose command could not start", not_started);
  return text;
}

// The trials of the front.
ReportTable front_table(const StudyView& view) {
  ReportTable table{.name = "front", .title = "Front"};
  table.columns.push_back({"trial", "trial", CellKind::kCount});
  for (const std::string& name : view.objectives) table.columns.push_back({name, name, CellKind::kFigure});
  table.columns.push_back({"setting", "setting", CellKind::kText});
  for (const std::int64_t number : view.best) {
    const StudyTrial& trial = view.trials[static_cast<std::size_t>(number)];
    std::vector<ReportCell> row{trial.number};
    for (const double value : trial.values) row.push_back(nadi::value_text(value));
    row.push_back(setting_text(trial));
    table.rows.push_back(std::move(row));
  }
  return table;
}

// "baseline: loss 10 with n=20 (trial 0); the best is 90.0% lower"; "" without a baseline.
std::string improvement_text(const StudyView& view) {
  if (!view.baseline) {
    for (const StudyTrial& trial : view.trials)
      if (is_finished(trial.state) && counts_as_trial(trial) && text_attribute(trial, kRole) == "baseline")
        return format("baseline: no value with {} (trial {}): {}", setting_text(trial), trial.number,
                      text_attribute(trial, kReason).value_or(std::string(to_string(trial.state))));
    return "";
  }
  const StudyTrial& baseline = view.trials[static_cast<std::size_t>(*view.baseline)];
  std::string values;
  std::string gains;
  const bool is_best = view.objectives.size() == 1 && view.best[0] == *view.baseline;
  if (is_best) gains = "; no trial is better";
  for (std::size_t i = 0; i < view.objectives.size(); ++i) {
    values += format("{}{} {}", i == 0 ? "" : ", ", view.objectives[i], nadi::value_text(baseline.values[i]));
    const auto gain = view.improvement(i);
    if (!gain || is_best) continue;
    gains += format("{}the best{} is {:.1f}% {}", gains.empty() ? "; " : ", ",
                    view.objectives.size() == 1 ? "" : " " + view.objectives[i], 100 * std::abs(*gain),
                    view.maximizes(i) == (*gain >= 0) ? "higher" : "lower");
  }
  return format("baseline: {} with {} (trial {}){}", values, setting_text(baseline), baseline.number, gains);
}

}  // namespace

std::string value_text(double value) {
  return format("{:.6g}", value);
}

ReportTable trials_table(const StudyView& view) {
  ReportTable table{.name = "trials", .title = "Trials"};
  table.columns.push_back({"trial", "trial", CellKind::kCount});
  for (const std::string& name : view.objectives) table.columns.push_back({name, name, CellKind::kFigure});
  for (const ViewParameter& parameter : view.parameters)
    table.columns.push_back({parameter.name, parameter.name, CellKind::kFigure, Shown::kIfRoom});
  table.columns.push_back({"seconds", "took", CellKind::kFigure, Shown::kIfRoom});
  table.columns.push_back({"noise", "noise", CellKind::kShare, Shown::kIfRoom});
  table.columns.push_back({"outcome", "outcome", CellKind::kText});
  table.columns.push_back({"reason", "reason", CellKind::kText, Shown::kIfRoom, ""});
  for (const StudyTrial* trial : ranked_trials(view)) {
    std::vector<ReportCell> row{trial->number};
    for (std::size_t i = 0; i < view.objectives.size(); ++i)
      row.push_back(i < trial->values.size() ? ReportCell(value_text(trial->values[i]))
                                             : ReportCell(std::monostate{}));
    for (const ViewParameter& parameter : view.parameters) {
      const TrialParameter* known = trial->find(parameter.name);
      row.push_back(known == nullptr ? ReportCell(std::monostate{})
                                     : ReportCell(shown_text(known->external())));
    }
    const auto seconds = seconds_of(*trial);
    row.push_back(seconds ? ReportCell(to_string(Nanoseconds{static_cast<std::int64_t>(*seconds * 1e9)}))
                          : ReportCell(std::monostate{}));
    const auto noise = number_attribute(*trial, kNoise);
    row.push_back(noise ? ReportCell(*noise) : ReportCell(std::monostate{}));
    row.push_back(state_text(*trial));
    row.push_back(known_text(text_attribute(*trial, kReason).value_or("")));
    table.rows.push_back(std::move(row));
  }
  return table;
}

ReportTable importance_table(const StudyView& view) {
  ReportTable table{.name = "importance",
                    .title = "Importance of parameters",
                    .columns = {{"parameter", "parameter", CellKind::kText}}};
  for (const std::string& name : view.objectives)
    table.columns.push_back({view.objectives.size() == 1 ? "importance" : name,
                             view.objectives.size() == 1 ? "share" : name, CellKind::kShare});
  std::vector<const ViewParameter*> parameters;
  for (const ViewParameter& parameter : view.parameters)
    if (!parameter.importance.empty() && parameter.importance[0]) parameters.push_back(&parameter);
  std::ranges::stable_sort(parameters, std::ranges::greater{},
                           [](const ViewParameter* parameter) { return *parameter->importance[0]; });
  for (const ViewParameter* parameter : parameters) {
    std::vector<ReportCell> row{parameter->name};
    for (const auto& share : parameter->importance)
      row.push_back(share ? ReportCell(*share) : ReportCell(std::monostate{}));
    table.rows.push_back(std::move(row));
  }
  return table;
}

void print_study(const StudyView& view, std::size_t top, std::ostream& out, const ReportStyle& style) {
  print_tune_summary(view, out, style);
  if (view.trials.empty()) return;
  out << "\n"
      << table_text(trials_table(view), {.rows = top,
                                         .bold_titles = style.colour,
                                         .width = style.table_width,
                                         .more = "; --top 0 shows all",
                                         .wide = "--wide shows all"});
  const ReportTable importance = importance_table(view);
  if (!importance.rows.empty())
    out << "\n"
        << table_text(importance,
                      {.rows = kShownTrials, .bold_titles = style.colour, .width = style.table_width});
}

void print_tune_summary(const StudyView& view, std::ostream& out, const ReportStyle& style) {
  out << style.heading(format("Study '{}' in {}", view.study.name, view.file)) << "\n"
      << counts_text(view) << "\n";
  if (view.best.empty()) {
    out << "no trial is complete\n";
    return;
  }
  if (view.objectives.size() > 1) {
    out << format("front: {} trial{} that no other beats in all objectives\n", view.best.size(),
                  view.best.size() == 1 ? "" : "s")
        << table_text(
               front_table(view),
               {.rows = kShownFront, .bold_titles = style.colour, .width = style.table_width, .more = ""});
  } else {
    const StudyTrial& best = view.trials[static_cast<std::size_t>(view.best[0])];
    out << format("best: {} {} with {} (trial {})\n", view.objectives[0], value_text(best.values[0]),
                  setting_text(best), best.number);
  }
  if (const std::string text = improvement_text(view); !text.empty()) out << text << "\n";
  const StudyTrial& best = view.trials[static_cast<std::size_t>(view.best[0])];
  if (const auto command = command_of_trial(view, best); command && view.objectives.size() == 1)
    out << "command:\n  " << shell_text(*command) << "\n";
}

Json trial_json(const StudyView& view, const StudyTrial& trial) {
  Json json{{"number", trial.number}, {"state", to_string(trial.state)}};
  json["values"] = Json::object();
  for (std::size_t i = 0; i < trial.values.size() && i < view.objectives.size(); ++i)
    json["values"][view.objectives[i]] = trial.values[i];
  json["parameters"] = Json::object();
  for (const TrialParameter& parameter : trial.parameters)
    json["parameters"][parameter.name] = json_of_parameter_value(parameter.external());
  const auto seconds = seconds_of(trial);
  json["seconds"] = seconds ? Json(*seconds) : Json(nullptr);
  const auto text = [&](std::string_view name) {
    const auto known = text_attribute(trial, name);
    return known ? Json(*known) : Json(nullptr);
  };
  const auto number = [&](std::string_view name) {
    const auto known = number_attribute(trial, name);
    return known ? Json(*known) : Json(nullptr);
  };
  json["outcome"] = text(kOutcome);
  json["reason"] = text(kReason);
  json["role"] = text(kRole);
  json["noise"] = number(kNoise);
  json["from_trial"] = number(kFromTrial);
  json["log"] = text(kLogFile);
  return json;
}

Json study_json(const StudyView& view) {
  Json json{{"nadi_version", version()}, {"file", view.file}, {"study", view.study.name}};
  json["objectives"] = Json::array();
  for (std::size_t i = 0; i < view.objectives.size(); ++i)
    json["objectives"].push_back(
        {{"name", view.objectives[i]}, {"direction", to_string(view.study.directions[i])}});
  json["best"] = Json::array();
  for (const std::int64_t best : view.best) json["best"].push_back(best);
  json["baseline"] = view.baseline ? Json(*view.baseline) : Json(nullptr);
  const auto gain = view.objectives.size() == 1 ? view.improvement() : std::nullopt;
  json["improvement"] = gain ? Json(*gain) : Json(nullptr);
  json["command"] = nullptr;
  if (!view.best.empty())
    if (const auto command = command_of_trial(view, view.trials[static_cast<std::size_t>(view.best[0])]))
      json["command"] = shell_text(*command);
  json["importance"] = table_json(importance_table(view));
  json["trials"] = Json::array();
  for (const StudyTrial& trial : view.trials) json["trials"].push_back(trial_json(view, trial));
  return json;
}

}  // namespace nadi::inline show
