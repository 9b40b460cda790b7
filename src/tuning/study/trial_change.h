// What both storages do with a change of a trial: check it before it is written, and apply it to the trial in
// memory after. For sources of this room.
#pragma once

#include <span>
#include <string>
#include <unordered_map>

#include "nadi/study/study_storage.h"
#include "nadi/study/trial.h"

namespace nadi::inline tuning {

// The distribution that a parameter had first in a study; later ones must be compatible with it.
using FirstDistributions = std::unordered_map<std::string, SharedDistribution>;

// Throw Error (usage) for what Optuna would refuse, or could not read back.
void check_update(const StudyTrial& trial, const TrialUpdate& update, const Study& study,
                  const FirstDistributions& first);
void check_new_trial(const NewTrial& trial, const Study& study, const FirstDistributions& first);
void check_new_study(const NewStudy& study);
void check_attributes(const StudyAttributes& attributes);

// `now` becomes the time of completion, where the update finishes the trial.
void apply_update(const TrialUpdate& update, StudyTime now, StudyTrial& trial);

// Without id and number.
StudyTrial trial_from(const NewTrial& trial, StudyTime now);

// The update with its constraints among its system attributes.
StudyAttributes system_attributes_of(const TrialUpdate& update);
StudyAttributes system_attributes_of(const NewTrial& trial);

// Reads the constraints of a trial from its system attributes again. PythonJsonError where they are no
// numbers.
void read_constraints(StudyTrial& trial);

// What is wrong with the values of a trial that was read: as many as objectives, or none and the trial is not
// complete; no NaN. "" if nothing is.
std::string fault_of_values(const StudyTrial& trial, const Study& study);

// Whether read_constraints() may read something else after this attribute was set.
bool is_constraint(std::string_view system_attribute);

// A trial that waits in place of a stale one, as Optuna's RetryHeartbeatStaleTrialCallback makes it;
// std::nullopt after `most` retries.
std::optional<NewTrial> retry_of(const StudyTrial& stale, int most);

// Why a running trial is stale; std::nullopt if it is not. `heartbeat` is the last sign of its worker, if
// there was one.
std::optional<std::string> staleness(const StudyTrial& trial, std::optional<StudyTime> heartbeat,
                                     StudyTime now, std::chrono::seconds grace);

// Distributions by their text: each is parsed once and shared.
class DistributionTable {
 public:
  // PythonJsonError for other texts.
  SharedDistribution find_or_parse(std::string_view text);
  // The text of a distribution, made once.
  const std::string& text_of(const SharedDistribution& distribution);

 private:
  std::unordered_map<std::string, SharedDistribution> by_text_;
  // The key keeps the distribution alive, so that its address is not used again.
  std::unordered_map<SharedDistribution, std::string> texts_;
};

}  // namespace nadi::inline tuning
