// What the operations of a journal have made: studies and trials. For sources of this room.
//
//   JournalReplay replay(file_name);
//   file.read_new([&](std::string_view line, std::int64_t number) { replay.apply(line, number); });
//   replay.find_study(id)->trials ...
//
// The rules are Optuna's, since its workers and ours must see the same: an operation on a finished trial has
// no effect, nor has a second claim of a trial, a study of a name that is taken, a parameter whose range is
// not compatible with an earlier one. Ids count in the order of the operations. What no Optuna could have
// written is Error (input) with the line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/study/trial.h"
#include "nadi/study/trial_change.h"

namespace nadi::inline tuning {

struct JournalStudy {
  Study study;
  bool is_deleted = false;
  std::vector<StudyTrial> trials;  // by number
  std::size_t settled = 0;         // all trials before it are finished
  FirstDistributions first_distributions;
};

class JournalReplay {
 public:
  explicit JournalReplay(std::string file) : file_(std::move(file)) {}

  void apply(std::string_view line, std::int64_t number);

  const std::vector<JournalStudy>& studies() const { return studies_; }
  const JournalStudy* find_study(StudyId id) const;  // nullptr where there is none, or it was deleted
  const StudyTrial* find_trial(TrialId id) const;    // nullptr when absent
  const JournalStudy* study_of(TrialId id) const;

  TrialId next_trial() const { return TrialId{static_cast<std::int64_t>(places_.size())}; }
  StudyId next_study() const { return StudyId{static_cast<std::int64_t>(studies_.size())}; }

  DistributionTable& distributions() { return distributions_; }

 private:
  class Line;
  struct TrialPlace {
    std::size_t study;
    std::size_t trial;
  };

  void create_study(const Line& line);
  void create_trial(const Line& line);
  void set_parameter(const Line& line);
  void set_state(const Line& line);
  void set_attribute(const Line& line, std::string_view key, StudyAttributes& attributes) const;
  static void settle(JournalStudy& study);
  JournalStudy* study_for(const Line& line);
  // nullptr where the operation has no effect.
  StudyTrial* trial_for(const Line& line);
  TrialParameter parameter(const std::string& name, std::string_view value, const std::string& distribution);

  std::string file_;
  std::vector<JournalStudy> studies_;
  std::vector<TrialPlace> places_;  // by trial id
  DistributionTable distributions_;
};

}  // namespace nadi::inline tuning
