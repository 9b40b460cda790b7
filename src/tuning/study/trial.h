// A trial of a study: which parameters were tried, what came out, and how it went.
//
// Plain data, read from a StudyStorage (study_storage.h). Samplers and reports take std::span<const
// StudyTrial>, in the order of the numbers.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/study/distribution.h"

namespace nadi::inline tuning {

// Ids count over a whole storage, numbers within one study, both without gaps. Messages and people use
// numbers.
enum class StudyId : std::int64_t {};
enum class TrialId : std::int64_t {};

// In the order of the numbers of Optuna's journals.
enum class TrialState { kRunning, kComplete, kPruned, kFail, kWaiting };

// "running", "complete", "pruned", "fail", "waiting".
std::string_view to_string(TrialState state);

constexpr bool is_finished(TrialState state) {
  return state == TrialState::kComplete || state == TrialState::kPruned || state == TrialState::kFail;
}

enum class StudyDirection { kMinimize, kMaximize };
std::string_view to_string(StudyDirection direction);  // "minimize", "maximize"

// UTC. Optuna's files have local times or UTC, see study_time.h.
using StudyTime = std::chrono::sys_time<std::chrono::microseconds>;

// Name to JSON text ("0.5", "\"a\"", "[1, 2]"), as it was written: whoever reads an attribute knows what it
// holds.
using StudyAttributes = std::map<std::string, std::string, std::less<>>;

struct TrialParameter {
  std::string name = {};
  double value = 0;                      // internal: of a categorical, the index of the choice
  SharedDistribution distribution = {};  // never nullptr

  ParameterValue external() const;
};

struct StudyTrial {
  TrialId id{};
  std::int64_t number = 0;
  TrialState state = TrialState::kRunning;
  std::vector<double> values;              // one for each objective, or none; infinities occur, NaN does not
  std::vector<TrialParameter> parameters;  // in the order in which they were set
  std::map<std::int64_t, double> intermediate_values;  // by step; may be NaN or infinite
  StudyAttributes user_attributes;
  StudyAttributes system_attributes;
  // From the system attributes `constraints` and `constraints:NAME` (Optuna 5): none above zero means
  // feasible. Empty where the trial has none.
  std::vector<double> constraints;
  std::optional<StudyTime> start;
  std::optional<StudyTime> complete;

  const TrialParameter* find(std::string_view parameter) const;  // nullptr when absent
  bool is_feasible() const;
  // nullptr when absent.
  const std::string* user_attribute(std::string_view name) const;
  const std::string* system_attribute(std::string_view name) const;
};

// Names of attributes that have a meaning for Optuna and its dashboard.
inline constexpr std::string_view kFixedParameters =
    "fixed_params";                                              // trial, system: object of external values
inline constexpr std::string_view kConstraints = "constraints";  // trial, system: list of numbers
inline constexpr std::string_view kFailedTrial =
    "failed_trial";  // trial, system: number of the trial retried
inline constexpr std::string_view kRetryHistory = "retry_history";  // trial, system: numbers of all before it
inline constexpr std::string_view kMetricNames = "study:metric_names";  // study, system: list of names
// Ours: why a trial failed or was pruned, as a text. A user attribute, which dashboards show.
inline constexpr std::string_view kReason = "reason";

// The values of `fixed_params` of an enqueued trial, by name; empty where there are none. Error (input) for
// other JSON.
std::map<std::string, ParameterValue> fixed_parameters(const StudyTrial& trial);

struct Study {
  StudyId id{};
  std::string name;
  std::vector<StudyDirection> directions;  // one for each objective, one at least
  StudyAttributes user_attributes;
  StudyAttributes system_attributes;
};

}  // namespace nadi::inline tuning
