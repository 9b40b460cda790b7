// The trials of one study of a database, in memory and kept up to date. For sources of this room.
//
//   SqlTransaction transaction(database, TransactionKind::kRead);
//   trials.refresh();                                // reads what has changed
//   for (const StudyTrial& trial : trials.all()) ...
//
// A finished trial never changes, so it is read once. Read again are the trials that wait or run, and those
// of this process only as far as others may change them: their state. Cost of a refresh: about 5 us for each
// of these, 50 us for each trial that is new.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <vector>

#include "nadi/study/sql_database.h"
#include "nadi/study/study_time.h"
#include "nadi/study/trial.h"
#include "nadi/study/trial_change.h"

namespace nadi::inline tuning {

class SqlTrials {
 public:
  SqlTrials(SqlDatabase& database, DistributionTable& distributions, Study study, TimeZoneKind zone);

  const Study& study() const { return study_; }
  std::span<const StudyTrial> all() const { return trials_; }
  const FirstDistributions& first_distributions() const { return first_distributions_; }
  StudyTrial* find(TrialId id);  // nullptr when absent
  // The first that waits; nullptr where none does.
  const StudyTrial* first_waiting();

  // In a transaction.
  void refresh();

  // What this process wrote, after the transaction.
  void add(StudyTrial trial);
  void replace(StudyTrial trial);
  // find(id) was changed in place.
  void note(TrialId id);
  // A trial of this process is not read again while it runs.
  void own(TrialId id);

 private:
  void read_changed(std::vector<TrialId>& changed);
  void read_new(std::vector<TrialId>& changed);
  void read_details(std::span<const TrialId> ids);
  void read_details(TrialId first, TrialId last, const std::function<bool(TrialId)>& wanted);
  void read_head(SqlStatement& row, StudyTrial& trial) const;
  void remember(const StudyTrial& trial);

  SqlDatabase& database_;
  DistributionTable& distributions_;
  Study study_;
  TimeZoneKind zone_;
  std::vector<StudyTrial> trials_;  // by id, which is the order of the numbers, too
  std::set<TrialId> unfinished_;
  std::set<TrialId> own_;
  FirstDistributions first_distributions_;
};

// As in the column `state`: "RUNNING".
std::string_view state_name(TrialState state);
// Error (input) for another word.
TrialState state_in_row(const SqlStatement& row, int column);

}  // namespace nadi::inline tuning
