// Tree-structured Parzen estimators (Bergstra et al., 2011; multivariate as in Falkner et al., 2018):
// densities of the better trials, l, and of the others, g. Candidates are drawn from l, and the one with the
// largest l / g is tried.
//
// Together: parameters that are always active, and of the conditional ones those that the trials so far
// always had together (as Optuna's `group` does); each such group from the trials that had it. Univariate:
// each parameter alone, its own best of the candidates. Trials that run or failed are among the others, so
// that no worker is sent where one is already (constant liar).
#include <algorithm>
#include <cmath>
#include <map>

#include "nadi/sampling/parzen_estimator.h"
#include "nadi/sampling/point_pool.h"
#include "nadi/sampling/samplers.h"

namespace nadi::inline tuning {
namespace {

constexpr std::int64_t kStartupTrials = 10;
constexpr int kTpeCandidates = 24;
constexpr int kUnivariateAttempts = 10;  // at a point that is allowed and untried
constexpr std::size_t kMostOthers =
    1000;  // of g: evenly spread over the rest, which bounds the time at any length

class TpeSampler final : public TrialSampler {
 public:
  TpeSampler(const SamplerSettings& settings, SearchSpace space, bool univariate)
      : seed_(settings.seed),
        univariate_(univariate),
        space_(std::move(space)),
        pool_(space_),
        start_(make_random_sampler(settings, space_)) {}

  std::optional<std::vector<double>> suggest(const TrialHistory& history,
                                             std::int64_t number) const override {
    const std::vector<std::size_t> merit = trials_by_merit(history);
    if (static_cast<std::int64_t>(merit.size()) < kStartupTrials) return start_->suggest(history, number);
    const auto better_count = std::min<std::size_t>(25, (merit.size() + 9) / 10);
    std::vector<std::size_t> better(merit.begin(), merit.begin() + static_cast<std::ptrdiff_t>(better_count));
    std::sort(better.begin(), better.end());
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < history.trials.size(); ++i)
      if (!std::binary_search(better.begin(), better.end(), i)) others.push_back(i);
    if (others.size() > kMostOthers) {
      std::vector<std::size_t> kept;
      for (std::size_t i = 0; i < kMostOthers; ++i) kept.push_back(others[i * others.size() / kMostOthers]);
      others = std::move(kept);
    }
    CountedRandom random(seed_, number, "tpe");
    const TriedPoints tried(history);
    const auto good = points_of(history, better);
    const auto bad = points_of(history, others);
    auto proposal = univariate_ ? each_alone(good, bad, random, tried) : together(good, bad, random, tried);
    if (!proposal) return pool_.draw(random, tried);
    return proposal;
  }

 private:
  using Points = std::vector<std::span<const double>>;

  std::optional<std::vector<double>> each_alone(const Points& good, const Points& bad, CountedRandom& random,
                                                const TriedPoints& tried) const {
    std::map<std::size_t, std::pair<ParzenEstimator, ParzenEstimator>> estimators;
    for (int attempt = 0; attempt < kUnivariateAttempts; ++attempt) {
      std::vector<double> point(space_.size(), NAN);
      for (std::size_t i = 0; i < space_.size(); ++i) {
        if (space_.parameters[i].active && !space_.parameters[i].active(std::span(point).first(i))) continue;
        auto found = estimators.find(i);
        if (found == estimators.end())
          found = estimators
                      .emplace(
                          i, std::pair{ParzenEstimator(space_, {i}, good), ParzenEstimator(space_, {i}, bad)})
                      .first;
        double best_ratio = -INFINITY;
        for (int candidate = 0; candidate < kTpeCandidates; ++candidate) {
          const std::vector<double> value = found->second.first.draw(random);
          const double ratio =
              found->second.first.log_density(value) - found->second.second.log_density(value);
          if (!(ratio > best_ratio)) continue;
          best_ratio = ratio;
          point[i] = value[0];
        }
      }
      if (space_.valid(point) && !tried.contains(point)) return point;
    }
    return std::nullopt;
  }

  std::optional<std::vector<double>> together(const Points& good, const Points& bad, CountedRandom& random,
                                              const TriedPoints& tried) const {
    std::vector<double> best;
    double best_ratio = -INFINITY;
    const std::vector<std::size_t> companions = companions_of(good, bad);
    std::map<std::vector<std::size_t>, std::pair<ParzenEstimator, ParzenEstimator>> estimators;
    for (int candidate = 0; candidate < kTpeCandidates; ++candidate) {
      double ratio = 0;
      std::vector<double> point(space_.size(), NAN);
      std::vector<bool> decided(space_.size(), false);
      for (std::vector<std::size_t> group; !(group = next_group(point, companions, decided)).empty();) {
        auto found = estimators.find(group);
        if (found == estimators.end())
          found = estimators
                      .emplace(group, std::pair{ParzenEstimator(space_, group, good),
                                                ParzenEstimator(space_, group, bad)})
                      .first;
        const std::vector<double> values = found->second.first.draw(random);
        ratio += found->second.first.log_density(values) - found->second.second.log_density(values);
        for (std::size_t k = 0; k < group.size(); ++k) point[group[k]] = values[k];
      }
      if (!space_.valid(point) || tried.contains(point)) continue;
      if (ratio > best_ratio) {
        best_ratio = ratio;
        best = std::move(point);
      }
    }
    if (best.empty()) return std::nullopt;
    return best;
  }

  static Points points_of(const TrialHistory& history, const std::vector<std::size_t>& trials) {
    Points points;
    for (const std::size_t index : trials) points.emplace_back(history.trials[index].point);
    return points;
  }

  // For each parameter the first that was active in the same trials.
  std::vector<std::size_t> companions_of(const Points& good, const Points& bad) const {
    std::map<std::vector<bool>, std::size_t> first;
    std::vector<std::size_t> companions;
    for (std::size_t i = 0; i < space_.size(); ++i) {
      std::vector<bool> active;
      if (space_.parameters[i].active) {
        for (const auto& point : good) active.push_back(!std::isnan(point[i]));
        for (const auto& point : bad) active.push_back(!std::isnan(point[i]));
        // In no trial at all: nothing is known about what it goes with.
        if (std::none_of(active.begin(), active.end(), [](bool a) { return a; })) {
          companions.push_back(i);
          continue;
        }
      } else {
        active.assign(good.size() + bad.size(), true);
      }
      companions.push_back(first.emplace(std::move(active), i).first->second);
    }
    return companions;
  }

  // First what is always active. Then, in the order of the space, the next conditional parameter that is
  // active now, with its companions: those may turn out not to be active, and the candidate is then not
  // valid.
  std::vector<std::size_t> next_group(std::span<const double> point, std::span<const std::size_t> companions,
                                      std::vector<bool>& decided) const {
    std::vector<std::size_t> group;
    for (std::size_t i = 0; i < space_.size(); ++i)
      if (!decided[i] && !space_.parameters[i].active) group.push_back(i);
    for (std::size_t i = 0; i < space_.size() && group.empty(); ++i) {
      if (decided[i]) continue;
      decided[i] = true;
      if (!space_.parameters[i].active(point.first(i))) continue;
      for (std::size_t j = i; j < space_.size(); ++j)
        if (j == i || (!decided[j] && companions[j] == companions[i])) group.push_back(j);
    }
    for (const std::size_t index : group) decided[index] = true;
    return group;
  }

  std::uint64_t seed_;
  bool univariate_;
  SearchSpace space_;
  PointPool pool_;
  std::unique_ptr<TrialSampler> start_;
};

}  // namespace

std::unique_ptr<TrialSampler> make_tpe_sampler(const SamplerSettings& settings, SearchSpace space) {
  return std::make_unique<TpeSampler>(settings, std::move(space), false);
}

std::unique_ptr<TrialSampler> make_univariate_tpe_sampler(const SamplerSettings& settings,
                                                          SearchSpace space) {
  return std::make_unique<TpeSampler>(settings, std::move(space), true);
}

}  // namespace nadi::inline tuning
