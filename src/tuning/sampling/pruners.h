// How each pruner is made; pruner.h is what users of this room include.
#pragma once

#include <memory>

#include "nadi/sampling/pruner.h"

namespace nadi::inline tuning {

std::unique_ptr<TrialPruner> make_no_pruner(const PrunerSettings& settings);
std::unique_ptr<TrialPruner> make_percentile_pruner(const PrunerSettings& settings);  // and median
std::unique_ptr<TrialPruner> make_threshold_pruner(const PrunerSettings& settings);
std::unique_ptr<TrialPruner> make_patience_pruner(const PrunerSettings& settings);
std::unique_ptr<TrialPruner> make_halving_pruner(const PrunerSettings& settings);
std::unique_ptr<TrialPruner> make_hyperband_pruner(const PrunerSettings& settings);

// The bracket of trial `number` under hyperband; nothing while it is not known how long a trial is.
std::optional<std::int64_t> hyperband_bracket(const PrunerSettings& settings, const TrialHistory& history,
                                              std::int64_t number);

// True when the last report is the first in its interval: steps are cut into intervals from the warm-up on.
bool first_report_in_interval(const ObservedTrial& trial, std::int64_t warmup_steps,
                              std::int64_t interval_steps);

}  // namespace nadi::inline tuning
