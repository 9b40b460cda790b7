// The trials of a study as samplers and pruners see them, kept up to date at little cost: finished trials are
// converted once.
//
//   StudyHistory history(points, directions);
//   history.update(storage.trials(study));
//   sampler.suggest(history.view(), history.next_number());
//
// Trials of another space (values that this one does not have) are left out, and counted. A trial that failed
// by its own fault is given as one that was pruned before it reported anything: samplers take it for worse
// than all others. One whose worker died, or that was interrupted, says nothing about its point and is left
// out; so does one whose command could not start, unless the program itself is a parameter.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "nadi/sampling/trial_history.h"
#include "nadi/study/trial.h"
#include "nadi/tune/space_points.h"

namespace nadi::inline tuning {

// Whether the trial counts towards the number of trials that the user asked for: all but those that were
// interrupted, whose worker died, or whose command could not start.
bool counts_as_trial(const StudyTrial& trial);
bool could_not_start(const StudyTrial& trial);

// What a trial whose command could not start says about its point.
enum class NotStarted : std::uint8_t {
  kLeftOut,  // nothing means there was no such program, whatever the values
  kFailed,   // the program depends on the values: these are worse than all others
};

class StudyHistory {
 public:
  // `points` must outlive it.
  StudyHistory(const SpacePoints& points, const std::vector<StudyDirection>& directions,
               NotStarted not_started = NotStarted::kLeftOut);

  // All trials of the study, in the order of their numbers.
  void update(std::span<const StudyTrial> trials);

  const TrialHistory& view() const { return view_; }
  std::int64_t next_number() const { return known_; }
  std::int64_t counted() const { return counted_; }  // of counts_as_trial()
  std::int64_t foreign() const { return foreign_; }  // left out
  // Where a trial is in view(); nothing when it was left out.
  std::optional<std::size_t> index_of(std::int64_t number) const;
  // The first complete trial with the same point, other than `number`.
  std::optional<std::int64_t> same_as(std::span<const double> point, std::int64_t number) const;

 private:
  void add(const StudyTrial& trial);

  const SpacePoints* points_;
  NotStarted not_started_;
  TrialHistory view_;                                             // finished ones, then those that run
  std::size_t finished_ = 0;                                      // of view_
  std::unordered_multimap<std::uint64_t, std::size_t> complete_;  // places in view_ by point_hash()
  std::vector<std::int64_t> open_;                                // numbers that are not settled
  std::int64_t known_ = 0;
  std::int64_t counted_ = 0, settled_counted_ = 0;
  std::int64_t foreign_ = 0;
};

}  // namespace nadi::inline tuning
