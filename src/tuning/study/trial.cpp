#include "nadi/study/trial.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/study/python_json.h"

namespace nadi::inline tuning {
namespace {

const std::string* attribute(const StudyAttributes& attributes, std::string_view name) {
  const auto found = attributes.find(name);
  return found == attributes.end() ? nullptr : &found->second;
}

}  // namespace

std::string_view to_string(TrialState state) {
  switch (state) {
    case TrialState::kRunning:
      return "running";
    case TrialState::kComplete:
      return "complete";
    case TrialState::kPruned:
      return "pruned";
    case TrialState::kFail:
      return "fail";
    case TrialState::kWaiting:
      return "waiting";
  }
  unreachable();
}

std::string_view to_string(StudyDirection direction) {
  switch (direction) {
    case StudyDirection::kMinimize:
      return "minimize";
    case StudyDirection::kMaximize:
      return "maximize";
  }
  unreachable();
}

ParameterValue TrialParameter::external() const {
  std::optional<ParameterValue> external = external_value(*distribution, value);
  check(external.has_value(), "a parameter has a value that its distribution cannot have");
  return *std::move(external);
}

const TrialParameter* StudyTrial::find(std::string_view parameter) const {
  const auto found = std::ranges::find(parameters, parameter, &TrialParameter::name);
  return found == parameters.end() ? nullptr : &*found;
}

bool StudyTrial::is_feasible() const {
  return std::ranges::all_of(constraints, [](double violation) { return violation <= 0; });
}

const std::string* StudyTrial::user_attribute(std::string_view name) const {
  return attribute(user_attributes, name);
}

const std::string* StudyTrial::system_attribute(std::string_view name) const {
  return attribute(system_attributes, name);
}

std::map<std::string, ParameterValue> fixed_parameters(const StudyTrial& trial) {
  std::map<std::string, ParameterValue> fixed;
  const std::string* text = trial.system_attribute(kFixedParameters);
  if (text == nullptr) return fixed;
  try {
    for (JsonMember& member : json_members(*text))
      fixed.emplace(std::move(member.key), json_value(member.value));
  } catch (const PythonJsonError& error) {
    throw input_error({},
                      format("attribute '{}' of trial {}: {}", kFixedParameters, trial.number, error.what()));
  }
  return fixed;
}

}  // namespace nadi::inline tuning
