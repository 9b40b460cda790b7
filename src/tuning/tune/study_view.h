// A study as people look at it: what was tried, what was best, what mattered. Of any study, Optuna's too.
//
//   const StudyView view = view_of_study(*storage, storage->open_study(""), "study.db");
//   for (const std::int64_t number : view.best) ...
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nadi/study/study_storage.h"
#include "nadi/tune/tune_study.h"

namespace nadi::inline tuning {

struct ViewParameter {
  std::string name;
  SharedDistribution distribution;
  std::vector<std::optional<double>> importance = {};  // by objective; nothing where too few trials tell
};

struct StudyView {
  std::string file;
  Study study;
  std::optional<TuneStudy> tune = {};  // of a study of ours
  std::vector<StudyTrial> trials = {};
  std::vector<std::string> objectives = {};  // names
  std::vector<ViewParameter> parameters = {};
  // Numbers: one, or the front of several objectives, the best in the first of them first; none if nothing is
  // complete.
  std::vector<std::int64_t> best = {};
  std::optional<std::int64_t> baseline = {};  // its trial, once it is complete

  bool maximizes(std::size_t objective) const {
    return study.directions[objective] == StudyDirection::kMaximize;
  }
  // How much better the best is than the baseline in an objective, as a share of the baseline: 0.25 is a
  // quarter more of what is maximized, or a quarter less of what is minimized. Of several objectives, the
  // best is the trial of the front that is best in this one. Nothing without a baseline, or where it is 0.
  std::optional<double> improvement(std::size_t objective = 0) const;
};

StudyView view_of_study(StudyStorage& storage, StudyId study, const std::string& file);

// Names of objectives that have the same value in all complete trials, of three or more.
std::vector<std::string> objectives_without_differences(const StudyView& view);

// "micro_batch=4 layers=12", with inactive parameters left out and numbers to six digits, to be read; the
// value itself is in the command of the trial.
std::string setting_text(const StudyTrial& trial);

// How long a trial's programs ran, without what the tuner did around them; of other tuners' studies from its start to its end.
// Nothing where nobody says it.
std::optional<double> seconds_of(const StudyTrial& trial);

// The command of a trial, as it ran; nothing for a study that is not ours or a trial of another space.
std::optional<TrialCommand> command_of_trial(const StudyView& view, const StudyTrial& trial);

}  // namespace nadi::inline tuning
