#include "nadi/sampling/trial_history.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "nadi/sampling/pareto_front.h"

namespace nadi::inline tuning {
namespace {

constexpr double kWorst = std::numeric_limits<double>::infinity();

// The last intermediate value, less is better; NaN is the worst.
double last_intermediate(const TrialHistory& history, const ObservedTrial& trial) {
  if (trial.intermediate.empty() || std::isnan(trial.intermediate.back().second)) return kWorst;
  return history.maximize[0] ? -trial.intermediate.back().second : trial.intermediate.back().second;
}

struct MeritKey {
  double violation = 0;
  bool pruned = false;
  double first = 0;  // value, rank of the front, or the negative step that a pruned trial came to
  double second = 0;
  std::int64_t number = 0;

  auto tied() const { return std::tie(violation, pruned, first, second, number); }
};

// Fronts beyond the first half of the trials are not told apart: samplers ask for the better ones.
void rank_by_fronts(const TrialHistory& history, std::span<const std::size_t> complete,
                    std::vector<MeritKey>& keys) {
  std::vector<std::vector<double>> points;
  for (const std::size_t index : complete) points.push_back(minimized(history, history.trials[index]));
  const std::vector<std::size_t> ranks = pareto_ranks(points, points.size() / 2 + 1);
  const std::size_t fronts = ranks.empty() ? 0 : *std::max_element(ranks.begin(), ranks.end()) + 1;
  std::vector<std::vector<std::size_t>> members(fronts);
  for (std::size_t i = 0; i < complete.size(); ++i) members[ranks[i]].push_back(i);
  for (std::size_t rank = 0; rank < fronts; ++rank) {
    std::vector<std::vector<double>> front;
    for (const std::size_t i : members[rank]) front.push_back(points[i]);
    const std::vector<double> distances = crowding_distances(front);
    for (std::size_t j = 0; j < front.size(); ++j) {
      MeritKey& key = keys[complete[members[rank][j]]];
      key.first = static_cast<double>(rank);
      key.second = -distances[j];
    }
  }
}

}  // namespace

double violation(const ObservedTrial& trial) {
  double sum = 0;
  for (const double constraint : trial.constraints) {
    if (std::isnan(constraint)) return kWorst;
    sum += std::max(0.0, constraint);
  }
  return sum;
}

std::vector<double> minimized(const TrialHistory& history, const ObservedTrial& trial) {
  std::vector<double> values = trial.values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (history.maximize[i]) values[i] = -values[i];
    if (std::isnan(values[i])) values[i] = kWorst;
  }
  return values;
}

std::vector<std::size_t> trials_by_merit(const TrialHistory& history) {
  std::vector<MeritKey> keys(history.trials.size());
  std::vector<std::size_t> order;
  std::vector<std::size_t> complete;  // and feasible
  for (std::size_t i = 0; i < history.trials.size(); ++i) {
    const ObservedTrial& trial = history.trials[i];
    MeritKey& key = keys[i];
    key.number = trial.number;
    if (trial.outcome == TrialOutcome::kComplete && trial.values.size() == history.objectives()) {
      key.violation = violation(trial);
      if (key.violation == 0) complete.push_back(i);
      if (history.objectives() == 1) key.first = minimized(history, trial)[0];
    } else if (trial.outcome == TrialOutcome::kPruned && history.objectives() == 1) {
      key.violation = violation(trial);
      key.pruned = true;
      key.first = trial.intermediate.empty() ? kWorst : -static_cast<double>(trial.intermediate.back().first);
      key.second = last_intermediate(history, trial);
    } else {
      continue;
    }
    order.push_back(i);
  }
  if (history.objectives() > 1) rank_by_fronts(history, complete, keys);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return keys[a].tied() < keys[b].tied(); });
  return order;
}

std::vector<std::size_t> best_trials(const TrialHistory& history) {
  std::vector<std::size_t> complete;
  std::vector<std::vector<double>> points;
  for (std::size_t i = 0; i < history.trials.size(); ++i) {
    const ObservedTrial& trial = history.trials[i];
    if (trial.outcome != TrialOutcome::kComplete || trial.values.size() != history.objectives() ||
        violation(trial) > 0)
      continue;
    complete.push_back(i);
    points.push_back(minimized(history, trial));
  }
  if (complete.empty()) return {};
  if (history.objectives() == 1) {
    const auto least = std::min_element(points.begin(), points.end());
    return {complete[static_cast<std::size_t>(least - points.begin())]};
  }
  std::vector<std::size_t> best;
  for (const std::size_t index : pareto_front(points)) best.push_back(complete[index]);
  return best;
}

std::vector<std::optional<double>> merit_values(const TrialHistory& history) {
  std::vector<std::optional<double>> merits(history.trials.size());
  std::vector<double> complete;
  for (std::size_t i = 0; i < history.trials.size(); ++i) {
    const ObservedTrial& trial = history.trials[i];
    if (trial.outcome != TrialOutcome::kComplete || trial.values.size() != 1) continue;
    const double value = minimized(history, trial)[0];
    if (!std::isfinite(value)) continue;
    merits[i] = value;
    complete.push_back(value);
  }
  if (complete.empty()) return merits;
  const auto middle = complete.begin() + static_cast<std::ptrdiff_t>(complete.size() / 2);
  std::nth_element(complete.begin(), middle, complete.end());
  const double median = *middle;
  for (std::size_t i = 0; i < history.trials.size(); ++i) {
    const ObservedTrial& trial = history.trials[i];
    if (trial.outcome != TrialOutcome::kPruned || trial.intermediate.empty()) continue;
    const double last = last_intermediate(history, trial);
    merits[i] = std::isfinite(last) ? std::max(last, median) : median;
  }
  return merits;
}

}  // namespace nadi::inline tuning
