// Asynchronous successive halving (Li et al., "A system for massively parallel hyperparameter tuning", 2020),
// and hyperband over it. Rung k of a trial is its first report at step least_steps * reduction^(rate + k) or
// later. A trial passes a rung when it is among the best 1 / reduction of all trials that have come there,
// itself included, or the best of fewer; it may pass several at one report. What others reported after the
// moment of a verdict does not change it later: verdicts are asked for once, at the report.
//
// Hyperband: bracket b is successive halving with rate b, among the trials of the bracket. A bracket gets
// trials in proportion to reduction^s / (s + 1), s = brackets - 1 - b, drawn by the trial's number.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/sampling/counted_random.h"
#include "nadi/sampling/pruners.h"

namespace nadi::inline tuning {
namespace {

// The last step that any complete trial reported.
std::optional<std::int64_t> longest_trial(const TrialHistory& history) {
  std::optional<std::int64_t> longest;
  for (const ObservedTrial& trial : history.trials) {
    if (trial.outcome == TrialOutcome::kComplete && !trial.intermediate.empty())
      longest = std::max(longest.value_or(0), trial.intermediate.back().first);
  }
  return longest;
}

struct HalvingRungs {
  std::int64_t least_steps = 1;
  std::int64_t reduction = 4;
  std::int64_t rate = 0;

  double step_of(int rung) const {
    return static_cast<double>(least_steps) *
           std::pow(static_cast<double>(reduction), static_cast<double>(rate + rung));
  }
};

const std::pair<std::int64_t, double>* report_at(const ObservedTrial& trial, double step) {
  for (const auto& report : trial.intermediate)
    if (static_cast<double>(report.first) >= step) return &report;
  return nullptr;
}

// `member` says which trials compete.
template <typename Member>
std::optional<std::string> halving_verdict(const TrialHistory& history, std::size_t index,
                                           const HalvingRungs& rungs, const Member& member) {
  const ObservedTrial& trial = history.trials[index];
  if (trial.intermediate.empty()) return std::nullopt;
  const auto& last = trial.intermediate.back();
  const double sign = history.maximize[0] ? -1 : 1;
  for (int rung = 0; static_cast<double>(last.first) >= rungs.step_of(rung); ++rung) {
    const auto* own = report_at(trial, rungs.step_of(rung));
    if (own != &last) continue;  // passed at an earlier report
    if (std::isnan(last.second)) return fmt::format("the report at step {} is not a number", last.first);
    std::vector<double> competing;
    for (const ObservedTrial& other : history.trials) {
      if (!member(other)) continue;
      const auto* report = report_at(other, rungs.step_of(rung));
      if (report != nullptr && !std::isnan(report->second)) competing.push_back(sign * report->second);
    }
    std::sort(competing.begin(), competing.end());
    const auto promoted =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(competing.size()) / rungs.reduction);
    const double bound = competing[static_cast<std::size_t>(promoted - 1)];
    if (sign * last.second > bound)
      return fmt::format("{:.6g} at step {} is not among the best {} of {} trials of rung {}, up to {:.6g}",
                         last.second, last.first, promoted, competing.size(), rung, sign * bound);
  }
  return std::nullopt;
}

std::int64_t reduction_of(const PrunerSettings& settings, std::int64_t usual) {
  if (settings.reduction == 0) return usual;
  if (settings.reduction < 2) throw usage_error("successive halving needs a reduction of at least 2");
  return settings.reduction;
}

class HalvingPruner final : public TrialPruner {
 public:
  explicit HalvingPruner(const PrunerSettings& settings)
      : settings_(settings), reduction_(reduction_of(settings, 4)) {}

  std::optional<std::string> stop(const TrialHistory& history, std::size_t index) const override {
    std::int64_t least = settings_.least_steps;
    if (least == 0) {
      const auto longest = longest_trial(history);
      if (!longest) return std::nullopt;
      least = std::max<std::int64_t>(1, *longest / 100);
    }
    return halving_verdict(
        history, index,
        {.least_steps = least, .reduction = reduction_, .rate = settings_.early_stopping_rate},
        [](const ObservedTrial&) { return true; });
  }

 private:
  PrunerSettings settings_;
  std::int64_t reduction_;
};

struct HyperbandBrackets {
  std::uint64_t seed = 0;
  std::int64_t least_steps = 1;
  std::vector<double> shares = {};  // running sums

  // Nothing while it is not known how long a trial is.
  static std::optional<HyperbandBrackets> of(const PrunerSettings& settings, const TrialHistory& history) {
    std::int64_t most = settings.most_steps;
    if (most == 0) {
      const auto longest = longest_trial(history);
      if (!longest) return std::nullopt;
      most = *longest + 1;
    }
    HyperbandBrackets brackets{.seed = settings.seed,
                               .least_steps = std::max<std::int64_t>(1, settings.least_steps)};
    const auto reduction = static_cast<double>(reduction_of(settings, 3));
    const double ratio =
        static_cast<double>(std::max(most, brackets.least_steps)) / static_cast<double>(brackets.least_steps);
    const int count = 1 + static_cast<int>(std::floor(std::log(ratio) / std::log(reduction) + 1e-9));
    double sum = 0;
    for (int bracket = 0; bracket < count; ++bracket) {
      const int s = count - 1 - bracket;
      sum += std::ceil(count * std::pow(reduction, s) / (s + 1));
      brackets.shares.push_back(sum);
    }
    return brackets;
  }

  std::int64_t bracket_of(std::int64_t number) const {
    const double drawn = CountedRandom(seed, number, "hyperband").uniform() * shares.back();
    return std::upper_bound(shares.begin(), shares.end(), drawn) - shares.begin();
  }
};

class HyperbandPruner final : public TrialPruner {
 public:
  explicit HyperbandPruner(const PrunerSettings& settings)
      : settings_(settings), reduction_(reduction_of(settings, 3)) {
    if (settings.most_steps != 0 && settings.most_steps < std::max<std::int64_t>(1, settings.least_steps))
      throw usage_error("hyperband: a whole trial has fewer steps than a trial has before the first verdict");
  }

  std::optional<std::string> stop(const TrialHistory& history, std::size_t index) const override {
    const auto brackets = HyperbandBrackets::of(settings_, history);
    if (!brackets) return std::nullopt;
    const auto own = brackets->bracket_of(history.trials[index].number);
    return halving_verdict(
        history, index, {.least_steps = brackets->least_steps, .reduction = reduction_, .rate = own},
        [&](const ObservedTrial& other) { return brackets->bracket_of(other.number) == own; });
  }

 private:
  PrunerSettings settings_;
  std::int64_t reduction_;
};

}  // namespace

std::optional<std::int64_t> hyperband_bracket(const PrunerSettings& settings, const TrialHistory& history,
                                              std::int64_t number) {
  const auto brackets = HyperbandBrackets::of(settings, history);
  if (!brackets) return std::nullopt;
  return brackets->bracket_of(number);
}

std::unique_ptr<TrialPruner> make_halving_pruner(const PrunerSettings& settings) {
  return std::make_unique<HalvingPruner>(settings);
}
std::unique_ptr<TrialPruner> make_hyperband_pruner(const PrunerSettings& settings) {
  return std::make_unique<HyperbandPruner>(settings);
}

}  // namespace nadi::inline tuning
