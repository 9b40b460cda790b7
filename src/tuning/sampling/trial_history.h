// What is known of a study when a sampler or a pruner is asked: its trials as points and values.
//
//   TrialHistory history{.maximize = {false}};
//   history.trials.push_back(
//       {.number = 0, .outcome = TrialOutcome::kComplete, .point = {0.1, 3}, .values = {7.2}});
//
// A history is a view: whoever keeps the study makes one from it. Samplers and pruners keep nothing between
// calls, so any process that sees the same trials comes to the same suggestion.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace nadi::inline tuning {

enum class TrialOutcome { kRunning, kComplete, kPruned, kFailed };

struct ObservedTrial {
  std::int64_t number = 0;  // counts from 0 in a study
  TrialOutcome outcome = TrialOutcome::kRunning;
  std::vector<double> point = {};   // in the order of the space; NaN for what is not active
  std::vector<double> values = {};  // one for each objective; of complete trials alone
  std::vector<double> constraints =
      {};  // at most 0: met. Empty means nothing is known, or nothing is constrained
  std::vector<std::pair<std::int64_t, double>> intermediate =
      {};  // step and value, by step; values may be NaN
};

struct TrialHistory {
  std::vector<bool> maximize = {false};  // one for each objective
  std::vector<ObservedTrial> trials = {};

  std::size_t objectives() const { return maximize.size(); }
};

// Sum of the constraints that are not met; 0 when all are, or none are known.
double violation(const ObservedTrial& trial);

// The values with the sign that makes less better.
std::vector<double> minimized(const TrialHistory& history, const ObservedTrial& trial);

// Better first, ties by number. A better trial is: feasible rather than not, then less violation; of feasible
// ones with one objective the smaller value, with several the front it is on (fronts peeled one after
// another), then the larger gap to its neighbours on the front. Pruned ones come after complete ones, by how
// far they came and their last value; failed and running ones are left out.
std::vector<std::size_t> trials_by_merit(const TrialHistory& history);

// The best complete, feasible trials: one for one objective, the front of several; by number.
std::vector<std::size_t> best_trials(const TrialHistory& history);

// One number for each trial with one objective, less is better: its value, and of a pruned one the last value
// that it reported, but no better than the median of the complete ones, which it was stopped for. Nothing for
// the rest: failed and running ones, and pruned ones that reported nothing, which are as good as failed.
std::vector<std::optional<double>> merit_values(const TrialHistory& history);

}  // namespace nadi::inline tuning
