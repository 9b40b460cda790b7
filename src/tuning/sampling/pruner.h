// Tells whether a trial that runs should be stopped, by what it has reported so far.
//
//   const auto pruner = make_pruner({.name = "median"});
//   if (const auto reason = pruner->stop(history, index)) ...   // "4.2 at step 30 is worse than the median
//   of 7 trials, 3.9"
//
// Ask after each report. A verdict is a function of the history: pruners keep nothing, and any process comes
// to the same. Pruners look at the first objective. A trial without reports is never stopped; one whose last
// report is NaN is, by all but "none" and "patience".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "nadi/sampling/trial_history.h"

namespace nadi::inline tuning {

struct PrunerSettings {
  std::string name = "none";

  // median, percentile, threshold
  std::int64_t startup_trials = 5;  // complete trials before anything is stopped (median, percentile)
  std::int64_t warmup_steps = 0;    // no trial is stopped before this step
  std::int64_t interval_steps = 1;  // one verdict for so many steps
  std::int64_t least_trials = 1;    // with a report at the same step (median, percentile)
  double percentile = 25;           // of the trials that may go on (percentile)

  // threshold
  std::optional<double> lower = {};
  std::optional<double> upper = {};

  // patience
  std::int64_t patience = 10;  // reports without an improvement
  double least_change = 0;     // that counts as one

  // successive-halving, hyperband
  std::int64_t least_steps =
      1;                        // before the first verdict; 0 means a hundredth of the longest complete trial
  std::int64_t most_steps = 0;  // hyperband: of a whole trial; 0 means the longest complete trial
  std::int64_t reduction = 0;   // one in so many goes on; 0 means 4, for hyperband 3
  std::int64_t early_stopping_rate = 0;  // successive-halving: rungs left out at the beginning
  std::uint64_t seed = 0;                // hyperband: which bracket a trial is in

  bool operator==(const PrunerSettings&) const = default;
};

struct PrunerDescription {
  std::string_view name;
  std::string_view summary;
};
std::span<const PrunerDescription> pruner_descriptions();

// As JSON on one line, for the study, and back: Error (input) for a text that is no settings, an unknown key
// or name, or a number out of range.
std::string pruner_settings_text(const PrunerSettings& settings);
PrunerSettings parse_pruner_settings(const std::string& text, const std::string& origin);

class TrialPruner {
 public:
  virtual ~TrialPruner() = default;

  // The reason to stop trial `index` of the history; nothing means it goes on.
  virtual std::optional<std::string> stop(const TrialHistory& history, std::size_t index) const = 0;
};

// Error (usage) for an unknown name or settings that make no sense.
std::unique_ptr<TrialPruner> make_pruner(const PrunerSettings& settings);

}  // namespace nadi::inline tuning
