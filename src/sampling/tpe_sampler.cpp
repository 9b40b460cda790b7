// Tree-structured Parzen estimators (Bergstra et al., 2011; multivariate as in Falkner et al., 2018):
// densities of the better trials, l, and of the others, g. Candidates are drawn from l, and the one with the
// largest l / g is tried.
//
// Parameters that are always active are taken together; each conditional one that the values so far make
// active is taken alone, from the trials that had it. Trials that run or failed are among the others, so that
// no worker is sent where one is already (constant liar).
#include <algorithm>
#include <cmath>
#include <map>

#include "nadi/sampling/parzen_estimator.h"
#include "nadi/sampling/point_pool.h"
#include "nadi/sampling/samplers.h"

namespace nadi {
namespace {

constexpr std::int64_t kStartupTrials = 10;
constexpr int kTpeCandidates = 24;
constexpr std::size_t kMostOthers =
    1000;  // of g: evenly spread over the rest, which bounds the time at any length

class TpeSampler final : public TrialSampler {
 public:
  TpeSampler(const SamplerSettings& settings, SearchSpace space)
      : seed_(settings.seed),
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
    std::vector<double> best;
    double best_ratio = -INFINITY;
    const auto good = points_of(history, better);
    const auto bad = points_of(history, others);
    std::map<std::vector<std::size_t>, std::pair<ParzenEstimator, ParzenEstimator>> estimators;
    for (int candidate = 0; candidate < kTpeCandidates; ++candidate) {
      double ratio = 0;
      std::vector<double> point(space_.size(), NAN);
      std::vector<bool> decided(space_.size(), false);
      for (std::vector<std::size_t> group; !(group = next_group(point, decided)).empty();) {
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
    if (best.empty()) return pool_.draw(random, tried);
    return best;
  }

 private:
  static std::vector<std::span<const double>> points_of(const TrialHistory& history,
                                                        const std::vector<std::size_t>& trials) {
    std::vector<std::span<const double>> points;
    for (const std::size_t index : trials) points.emplace_back(history.trials[index].point);
    return points;
  }

  // First what is always active; then, in the order of the space, the conditional parameters that are active
  // now.
  std::vector<std::size_t> next_group(std::span<const double> point, std::vector<bool>& decided) const {
    std::vector<std::size_t> group;
    for (std::size_t i = 0; i < space_.size(); ++i)
      if (!decided[i] && !space_.parameters[i].active) group.push_back(i);
    if (group.empty()) {
      for (std::size_t i = 0; i < space_.size(); ++i) {
        if (decided[i]) continue;
        decided[i] = true;
        if (space_.parameters[i].active(point.first(i))) return {i};
      }
    }
    for (const std::size_t index : group) decided[index] = true;
    return group;
  }

  std::uint64_t seed_;
  SearchSpace space_;
  PointPool pool_;
  std::unique_ptr<TrialSampler> start_;
};

}  // namespace

std::unique_ptr<TrialSampler> make_tpe_sampler(const SamplerSettings& settings, SearchSpace space) {
  return std::make_unique<TpeSampler>(settings, std::move(space));
}

}  // namespace nadi
