#include "nadi/study/trial_change.h"

#include <algorithm>
#include <cmath>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/study/distribution_text.h"
#include "nadi/study/python_json.h"
#include "nadi/study/worker_identity.h"

namespace nadi::inline tuning {
namespace {

constexpr std::string_view kConstraintPrefix = "constraints:";

// A study has a few distributions; a program that makes new ones for every trial must not fill the memory.
constexpr std::size_t kMostDistributions = 4096;

void check_parameters(std::span<const TrialParameter> parameters, const FirstDistributions& first) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const TrialParameter& parameter = parameters[i];
    check(parameter.distribution != nullptr, "a parameter has no distribution");
    const ParameterDistribution& distribution = *parameter.distribution;
    check_distribution(distribution, parameter.name);
    const std::string name = quote_for_message(parameter.name);
    const bool is_index = std::holds_alternative<CategoricalDistribution>(distribution);
    if (!std::isfinite(parameter.value) || !external_value(distribution, parameter.value) ||
        (is_index && parameter.value != std::trunc(parameter.value)))
      throw usage_error(format("parameter {}: {} is not a value of its distribution", name, parameter.value));
    for (std::size_t j = 0; j < i; ++j) {
      if (parameters[j].name == parameter.name)
        throw usage_error(format("parameter {} is given twice", name));
    }
    const auto before = first.find(parameter.name);
    if (before != first.end() && before->second != parameter.distribution &&
        !are_compatible(*before->second, distribution))
      throw usage_error(
          format("parameter {} has another kind of range in this study: {} before, {} now", name,
                 distribution_to_json(*before->second), distribution_to_json(distribution)),
          "the kind, the logarithm and the choices of a parameter stay the same within a study; "
          "begin a new study for others");
  }
}

void check_values(std::span<const double> values, TrialState state, const Study& study) {
  for (const double value : values) {
    if (std::isnan(value)) throw usage_error("the value of a trial is NaN", "such a trial has failed");
  }
  if (!values.empty() && values.size() != study.directions.size())
    throw usage_error(
        format("{} values for a study with {} objectives", values.size(), study.directions.size()));
  if (state == TrialState::kComplete && values.empty())
    throw usage_error("a complete trial has no value", "a trial without a value is pruned or failed");
}

void check_constraints(std::span<const double> constraints) {
  for (const double constraint : constraints) {
    if (std::isnan(constraint)) throw usage_error("a constraint is NaN");
  }
}

std::string list_text(std::span<const double> numbers) {
  std::string out = "[";
  for (const double number : numbers) {
    if (out.size() > 1) out += ", ";
    append_json_number(number, out);
  }
  return out += "]";
}

StudyAttributes with_constraints(StudyAttributes attributes, std::span<const double> constraints) {
  if (!constraints.empty()) attributes[std::string(kConstraints)] = list_text(constraints);
  return attributes;
}

}  // namespace

void check_attributes(const StudyAttributes& attributes) {
  for (const auto& [name, text] : attributes) {
    try {
      check_json(text);
      // Both are read again at once; other users of these names write numbers, too.
      if (name == kConstraints && json_type(text) != JsonType::kNull) {
        for (const std::string_view element : json_elements(text)) json_number(element);
      } else if (std::string_view(name).starts_with(kConstraintPrefix)) {
        json_number(text);
      }
    } catch (const PythonJsonError& error) {
      throw usage_error(format("attribute {}: {}", quote_for_message(name), error.what()));
    }
  }
}

void check_update(const StudyTrial& trial, const TrialUpdate& update, const Study& study,
                  const FirstDistributions& first) {
  check_parameters(update.parameters, first);
  for (const TrialParameter& parameter : update.parameters) {
    if (trial.find(parameter.name) != nullptr)
      throw usage_error(
          format("trial {} has parameter {} already", trial.number, quote_for_message(parameter.name)));
  }
  check_attributes(update.user_attributes);
  check_attributes(update.system_attributes);
  check_constraints(update.constraints);
  check(update.state != TrialState::kRunning, "a trial is made to run by claiming it");
  check_values(update.values, update.state.value_or(TrialState::kRunning), study);
}

void check_new_trial(const NewTrial& trial, const Study& study, const FirstDistributions& first) {
  check_parameters(trial.parameters, first);
  check_attributes(trial.user_attributes);
  check_attributes(trial.system_attributes);
  check_constraints(trial.constraints);
  check_values(trial.values, trial.state, study);
}

void check_new_study(const NewStudy& study) {
  if (study.name.empty()) throw usage_error("a study must have a name");
  if (study.directions.empty()) throw usage_error("a study must have an objective");
}

void apply_update(const TrialUpdate& update, StudyTime now, StudyTrial& trial) {
  trial.parameters.insert(trial.parameters.end(), update.parameters.begin(), update.parameters.end());
  for (const auto& [step, value] : update.intermediate_values) trial.intermediate_values[step] = value;
  for (const auto& [name, text] : update.user_attributes) trial.user_attributes[name] = text;
  for (const auto& [name, text] : system_attributes_of(update)) trial.system_attributes[name] = text;
  if (!update.constraints.empty() || !update.system_attributes.empty()) read_constraints(trial);
  if (!update.values.empty()) trial.values = update.values;
  if (update.state) {
    trial.state = *update.state;
    if (is_finished(trial.state)) trial.complete = now;
  }
}

StudyTrial trial_from(const NewTrial& from, StudyTime now) {
  StudyTrial trial;
  trial.state = from.state;
  trial.values = from.values;
  trial.parameters = from.parameters;
  trial.intermediate_values = from.intermediate_values;
  trial.user_attributes = from.user_attributes;
  trial.system_attributes = system_attributes_of(from);
  trial.start = from.start;
  if (!trial.start && trial.state != TrialState::kWaiting) trial.start = now;
  trial.complete = from.complete;
  if (!trial.complete && is_finished(trial.state)) trial.complete = now;
  read_constraints(trial);
  return trial;
}

StudyAttributes system_attributes_of(const TrialUpdate& update) {
  return with_constraints(update.system_attributes, update.constraints);
}

StudyAttributes system_attributes_of(const NewTrial& trial) {
  return with_constraints(trial.system_attributes, trial.constraints);
}

std::string fault_of_values(const StudyTrial& trial, const Study& study) {
  if (std::ranges::any_of(trial.values, [](double value) { return std::isnan(value); }))
    return "its value is NaN";
  if (!trial.values.empty() && trial.values.size() != study.directions.size())
    return format("{} values for {} objectives", trial.values.size(), study.directions.size());
  if (trial.values.empty() && trial.state == TrialState::kComplete) return "it is complete and has no value";
  return "";
}

bool is_constraint(std::string_view system_attribute) {
  return system_attribute.starts_with(kConstraints);
}

void read_constraints(StudyTrial& trial) {
  trial.constraints.clear();
  const std::string* list = trial.system_attribute(kConstraints);
  if (list != nullptr && json_type(*list) != JsonType::kNull) {
    for (const std::string_view element : json_elements(*list))
      trial.constraints.push_back(json_number(element));
  }
  for (auto it = trial.system_attributes.lower_bound(kConstraintPrefix);
       it != trial.system_attributes.end() && it->first.starts_with(kConstraintPrefix); ++it)
    trial.constraints.push_back(json_number(it->second));
}

std::optional<NewTrial> retry_of(const StudyTrial& stale, int most) {
  if (most < 1) return std::nullopt;
  std::string history;
  int tried = 0;
  try {
    if (const std::string* before = stale.system_attribute(kRetryHistory)) {
      for (const std::string_view number : json_elements(*before)) {
        history += std::to_string(json_integer(number)) + ", ";
        ++tried;
      }
    }
  } catch (const PythonJsonError& error) {
    throw input_error({},
                      format("attribute '{}' of trial {}: {}", kRetryHistory, stale.number, error.what()));
  }
  if (tried >= most) return std::nullopt;
  NewTrial retry;
  retry.state = TrialState::kWaiting;
  retry.parameters = stale.parameters;
  retry.user_attributes = stale.user_attributes;
  retry.user_attributes.erase(std::string(kReason));
  retry.system_attributes = stale.system_attributes;
  retry.system_attributes.erase(std::string(kWorkerAttribute));
  retry.system_attributes.erase(std::string(kHeartbeatAttribute));
  retry.system_attributes.emplace(kFailedTrial, std::to_string(stale.number));
  retry.system_attributes[std::string(kRetryHistory)] = format("[{}{}]", history, stale.number);
  return retry;
}

std::optional<std::string> staleness(const StudyTrial& trial, std::optional<StudyTime> heartbeat,
                                     StudyTime now, std::chrono::seconds grace) {
  if (trial.state != TrialState::kRunning || !heartbeat) return std::nullopt;
  const std::string* worker = trial.system_attribute(kWorkerAttribute);
  if (worker != nullptr) {
    if (const auto reason = dead_worker(*worker, trial.number)) return reason;
  }
  const auto silent = now - *heartbeat;
  if (silent <= grace) return std::nullopt;
  return format("{} has been silent for {} s", worker != nullptr ? describe_worker(*worker) : "its worker",
                std::chrono::duration_cast<std::chrono::seconds>(silent).count());
}

SharedDistribution DistributionTable::find_or_parse(std::string_view text) {
  std::string key(text);
  const auto found = by_text_.find(key);
  if (found != by_text_.end()) return found->second;
  auto distribution = std::make_shared<const ParameterDistribution>(parse_distribution(text));
  if (by_text_.size() < kMostDistributions) by_text_.emplace(std::move(key), distribution);
  return distribution;
}

const std::string& DistributionTable::text_of(const SharedDistribution& distribution) {
  const auto found = texts_.find(distribution);
  if (found != texts_.end()) return found->second;
  if (texts_.size() >= kMostDistributions) texts_.clear();
  return texts_.emplace(distribution, distribution_to_json(*distribution)).first->second;
}

}  // namespace nadi::inline tuning
