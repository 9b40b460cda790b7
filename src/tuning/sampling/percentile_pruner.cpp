// Pruners that compare a trial with bounds, with others at the same step, or with itself.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/sampling/pruners.h"

namespace nadi::inline tuning {
namespace {

// Lies between the two nearest sorted values, in proportion.
double percentile_of(std::vector<double> values, double percent) {
  std::sort(values.begin(), values.end());
  const double place = percent / 100 * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

// Less is better; NaN when every report is.
double best_report(const TrialHistory& history, const ObservedTrial& trial) {
  double best = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [step, reported] : trial.intermediate) {
    const double value = history.maximize[0] ? -reported : reported;
    if (!std::isnan(value) && !(value >= best)) best = value;
  }
  return best;
}

class NoPruner final : public TrialPruner {
 public:
  std::optional<std::string> stop(const TrialHistory&, std::size_t) const override { return std::nullopt; }
};

// The best report of the trial so far is compared with what complete trials reported at its last step.
class PercentilePruner final : public TrialPruner {
 public:
  explicit PercentilePruner(const PrunerSettings& settings)
      : settings_(settings), percent_(settings.name == "median" ? 50 : settings.percentile) {
    if (!(percent_ >= 0 && percent_ <= 100)) throw usage_error("a percentile is between 0 and 100");
  }

  std::optional<std::string> stop(const TrialHistory& history, std::size_t index) const override {
    const ObservedTrial& trial = history.trials[index];
    if (trial.intermediate.empty()) return std::nullopt;
    const auto complete =
        std::count_if(history.trials.begin(), history.trials.end(),
                      [](const ObservedTrial& other) { return other.outcome == TrialOutcome::kComplete; });
    if (complete == 0 || complete < settings_.startup_trials) return std::nullopt;
    const std::int64_t step = trial.intermediate.back().first;
    if (step < settings_.warmup_steps) return std::nullopt;
    if (!first_report_in_interval(trial, settings_.warmup_steps, settings_.interval_steps))
      return std::nullopt;
    const double best = best_report(history, trial);
    if (std::isnan(best)) return fmt::format("every report up to step {} is not a number", step);
    std::vector<double> others;
    for (const ObservedTrial& other : history.trials) {
      if (other.outcome != TrialOutcome::kComplete) continue;
      const auto at =
          std::lower_bound(other.intermediate.begin(), other.intermediate.end(), step,
                           [](const auto& report, std::int64_t wanted) { return report.first < wanted; });
      if (at == other.intermediate.end() || at->first != step || std::isnan(at->second)) continue;
      others.push_back(history.maximize[0] ? -at->second : at->second);
    }
    if (others.empty() || static_cast<std::int64_t>(others.size()) < settings_.least_trials)
      return std::nullopt;
    const double bound = percentile_of(others, percent_);
    if (!(best > bound)) return std::nullopt;
    const double sign = history.maximize[0] ? -1 : 1;
    return fmt::format("{:.6g} up to step {} is worse than {:.6g}, {} of {} trials", sign * best, step,
                       sign * bound, percent_ == 50 ? "the median" : fmt::format("the best {:g}%", percent_),
                       others.size());
  }

 private:
  PrunerSettings settings_;
  double percent_;
};

class ThresholdPruner final : public TrialPruner {
 public:
  explicit ThresholdPruner(const PrunerSettings& settings) : settings_(settings) {
    if (!settings.lower && !settings.upper)
      throw usage_error("the pruner 'threshold' needs a lower or an upper bound");
    if (settings.lower && settings.upper && *settings.lower > *settings.upper)
      throw usage_error("the lower bound of the pruner 'threshold' is above the upper one");
  }

  std::optional<std::string> stop(const TrialHistory& history, std::size_t index) const override {
    const ObservedTrial& trial = history.trials[index];
    if (trial.intermediate.empty()) return std::nullopt;
    const auto [step, value] = trial.intermediate.back();
    if (step < settings_.warmup_steps) return std::nullopt;
    if (!first_report_in_interval(trial, settings_.warmup_steps, settings_.interval_steps))
      return std::nullopt;
    if (std::isnan(value)) return fmt::format("the report at step {} is not a number", step);
    if (settings_.lower && value < *settings_.lower)
      return fmt::format("{:.6g} at step {} is below {:.6g}", value, step, *settings_.lower);
    if (settings_.upper && value > *settings_.upper)
      return fmt::format("{:.6g} at step {} is above {:.6g}", value, step, *settings_.upper);
    return std::nullopt;
  }

 private:
  PrunerSettings settings_;
};

// The best of the last patience + 1 reports must be better than the best before them, less the change that
// counts. Where either are all NaN, nothing can be compared, and the trial goes on.
class PatiencePruner final : public TrialPruner {
 public:
  explicit PatiencePruner(const PrunerSettings& settings) : settings_(settings) {
    if (settings.patience < 0 || settings.least_change < 0)
      throw usage_error("patience and the change that counts must not be negative");
  }

  std::optional<std::string> stop(const TrialHistory& history, std::size_t index) const override {
    const ObservedTrial& trial = history.trials[index];
    const auto kept = static_cast<std::size_t>(settings_.patience) + 1;
    if (trial.intermediate.size() <= kept) return std::nullopt;
    double before = std::numeric_limits<double>::quiet_NaN();
    double after = before;
    for (std::size_t i = 0; i < trial.intermediate.size(); ++i) {
      const double value = history.maximize[0] ? -trial.intermediate[i].second : trial.intermediate[i].second;
      if (std::isnan(value)) continue;
      double& best = i + kept < trial.intermediate.size() ? before : after;
      if (!(value >= best)) best = value;
    }
    if (!(before + settings_.least_change < after)) return std::nullopt;
    const double sign = history.maximize[0] ? -1 : 1;
    return fmt::format("no improvement over {:.6g} in the last {} reports", sign * before, kept);
  }

 private:
  PrunerSettings settings_;
};

}  // namespace

bool first_report_in_interval(const ObservedTrial& trial, std::int64_t warmup_steps,
                              std::int64_t interval_steps) {
  const std::int64_t step = trial.intermediate.back().first;
  const std::int64_t begin = (step - warmup_steps) / interval_steps * interval_steps + warmup_steps;
  const std::size_t count = trial.intermediate.size();
  return count < 2 || trial.intermediate[count - 2].first < begin;
}

std::unique_ptr<TrialPruner> make_no_pruner(const PrunerSettings&) {
  return std::make_unique<NoPruner>();
}
std::unique_ptr<TrialPruner> make_percentile_pruner(const PrunerSettings& settings) {
  return std::make_unique<PercentilePruner>(settings);
}
std::unique_ptr<TrialPruner> make_threshold_pruner(const PrunerSettings& settings) {
  return std::make_unique<ThresholdPruner>(settings);
}
std::unique_ptr<TrialPruner> make_patience_pruner(const PrunerSettings& settings) {
  return std::make_unique<PatiencePruner>(settings);
}

}  // namespace nadi::inline tuning
