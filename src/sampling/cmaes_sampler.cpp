// CMA-ES: a normal distribution that moves to where trials are good and takes the shape of the function there
// (Hansen, The CMA evolution strategy: a tutorial, 2016), with a full covariance and restarts with twice the
// population (Auger and Hansen, 2005).
//
// Nothing is kept between proposals: the distribution is found again from the trials of the study, which are
// taken by number in populations, each moving the distribution once. A population counts when half of it has
// ended, so that a trial that hangs does not stop the search; trials that failed rank last. Any worker that
// sees the same trials finds the same distribution. A step is known from where a trial is, so trials that
// others proposed (a baseline, a queue) count, too, with their steps cut to a usual length (Hansen,
// Injecting external solutions into CMA-ES, 2011).
//
// Numbers that are always active are in the distribution, in units; choices and conditional parameters are
// drawn uniformly and independently.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "nadi/base/error.h"
#include "nadi/sampling/point_pool.h"
#include "nadi/sampling/samplers.h"
#include "nadi/sampling/triangular_factor.h"

namespace nadi {
namespace {

constexpr double kFirstDeviation = 0.25;  // of the range
constexpr double kLeastDeviation = 1e-6;  // below: restart
constexpr std::size_t kLargestPopulation = 256;
constexpr int kDrawsInRange = 20;
constexpr int kDrawsAllowed = 50;

// The distribution, and what its next move needs. The square root of the covariance is the triangular one.
class SearchDistribution {
 public:
  SearchDistribution(std::vector<double> mean, std::size_t population)
      : mean_(std::move(mean)),
        population_(population),
        covariance_(mean_.size() * mean_.size(), 0.0),
        step_path_(mean_.size(), 0.0),
        shape_path_(mean_.size(), 0.0) {
    for (std::size_t i = 0; i < size(); ++i) covariance_[i * size() + i] = 1;
    check(root_.decompose(covariance_, size()), "the identity is positive definite");
  }

  std::size_t size() const { return mean_.size(); }
  std::size_t population() const { return population_; }

  std::vector<double> draw(CountedRandom& random) const {
    std::vector<double> x;
    for (int attempt = 0; attempt < kDrawsInRange; ++attempt) {
      x.assign(size(), 0.0);
      for (double& entry : x) entry = random.normal();
      root_.multiply_lower(x);
      for (std::size_t i = 0; i < size(); ++i) x[i] = mean_[i] + deviation_ * x[i];
      if (std::all_of(x.begin(), x.end(), [](double entry) { return entry >= 0 && entry <= 1; })) return x;
    }
    for (double& entry : x) entry = std::clamp(entry, 0.0, 1.0);
    return x;
  }

  // `points`: better first, at least two.
  void move(const std::vector<std::vector<double>>& points) {
    const std::size_t n = size();
    const double dimensions = static_cast<double>(n);
    const std::size_t parents = std::max<std::size_t>(1, points.size() / 2);
    std::vector<double> weights(parents);
    for (std::size_t k = 0; k < parents; ++k)
      weights[k] =
          std::log((static_cast<double>(points.size()) + 1) / 2) - std::log(static_cast<double>(k + 1));
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    double squares = 0;
    for (double& weight : weights) {
      weight /= sum;
      squares += weight * weight;
    }
    const double effective = 1 / squares;
    const double step_rate = (effective + 2) / (dimensions + effective + 5);
    const double damping =
        1 + 2 * std::max(0.0, std::sqrt((effective - 1) / (dimensions + 1)) - 1) + step_rate;
    const double path_rate = (4 + effective / dimensions) / (dimensions + 4 + 2 * effective / dimensions);
    const double rank_one_rate = 2 / ((dimensions + 1.3) * (dimensions + 1.3) + effective);
    const double rank_many_rate =
        std::min(1 - rank_one_rate,
                 2 * (effective - 2 + 1 / effective) / ((dimensions + 2) * (dimensions + 2) + effective));
    // The mean length of a standard normal vector.
    const double usual_length =
        std::sqrt(dimensions) * (1 - 1 / (4 * dimensions) + 1 / (21 * dimensions * dimensions));
    const double longest = std::sqrt(dimensions) + 2 * dimensions / (dimensions + 2);

    std::vector<std::vector<double>> steps;
    std::vector<double> move(n, 0.0);
    for (std::size_t k = 0; k < parents; ++k) {
      std::vector<double> step(n);
      for (std::size_t i = 0; i < n; ++i) step[i] = (points[k][i] - mean_[i]) / deviation_;
      std::vector<double> standard = step;
      root_.solve_lower(standard);
      const double length =
          std::sqrt(std::inner_product(standard.begin(), standard.end(), standard.begin(), 0.0));
      if (length > longest)
        for (double& entry : step) entry *= longest / length;
      for (std::size_t i = 0; i < n; ++i) move[i] += weights[k] * step[i];
      steps.push_back(std::move(step));
    }
    for (std::size_t i = 0; i < n; ++i) mean_[i] = std::clamp(mean_[i] + deviation_ * move[i], 0.0, 1.0);
    std::vector<double> standard = move;
    root_.solve_lower(standard);
    double length = 0;
    for (std::size_t i = 0; i < n; ++i) {
      step_path_[i] =
          (1 - step_rate) * step_path_[i] + std::sqrt(step_rate * (2 - step_rate) * effective) * standard[i];
      length += step_path_[i] * step_path_[i];
    }
    length = std::sqrt(length);
    ++moves_;
    const double begun = 1 - std::pow(1 - step_rate, 2.0 * moves_);
    const bool grows = length / std::sqrt(begun) < (1.4 + 2 / (dimensions + 1)) * usual_length;
    for (std::size_t i = 0; i < n; ++i)
      shape_path_[i] = (1 - path_rate) * shape_path_[i] +
                       (grows ? std::sqrt(path_rate * (2 - path_rate) * effective) * move[i] : 0.0);
    const double kept =
        1 - rank_one_rate - rank_many_rate + (grows ? 0.0 : rank_one_rate * path_rate * (2 - path_rate));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = i; j < n; ++j) {
        double many = 0;
        for (std::size_t k = 0; k < parents; ++k) many += weights[k] * steps[k][i] * steps[k][j];
        double& entry = covariance_[i * n + j];
        entry = kept * entry + rank_one_rate * shape_path_[i] * shape_path_[j] + rank_many_rate * many;
        covariance_[j * n + i] = entry;
      }
    }
    // No wider than the range: where nothing tells points apart, steps would grow for ever.
    deviation_ = std::min(1.0, deviation_ * std::exp(step_rate / damping * (length / usual_length - 1)));
    if (!root_.decompose(covariance_, n)) ended_ = true;
    double widest = 0;
    for (std::size_t i = 0; i < n; ++i) widest = std::max(widest, covariance_[i * n + i]);
    if (!(deviation_ * std::sqrt(widest) > kLeastDeviation)) ended_ = true;
  }

  bool ended() const { return ended_; }  // too narrow to find anything new

 private:
  std::vector<double> mean_;
  std::size_t population_;
  double deviation_ = kFirstDeviation;
  std::vector<double> covariance_;
  TriangularFactor root_;
  std::vector<double> step_path_;  // in standard coordinates
  std::vector<double> shape_path_;
  int moves_ = 0;
  bool ended_ = false;
};

class CmaesSampler final : public TrialSampler {
 public:
  CmaesSampler(const SamplerSettings& settings, SearchSpace space)
      : seed_(settings.seed),
        space_(std::move(space)),
        pool_(space_),
        random_(make_random_sampler(settings, space_)) {
    for (std::size_t i = 0; i < space_.size(); ++i) {
      const SearchParameter& parameter = space_.parameters[i];
      if (parameter.kind != ParameterKind::kChoice && !parameter.active && !parameter.single())
        numbers_.push_back(i);
    }
  }

  std::optional<std::vector<double>> suggest(const TrialHistory& history,
                                             std::int64_t number) const override {
    if (history.objectives() > 1)
      throw usage_error("the sampler 'cmaes' searches for one objective",
                        "take 'auto' or 'tpe' for several objectives");
    if (numbers_.empty()) return random_->suggest(history, number);
    const SearchDistribution distribution = replayed(history);
    CountedRandom random(seed_, number, "cmaes");
    const TriedPoints tried(history);
    std::vector<double> point;
    for (int attempt = 0; attempt < kDrawsAllowed; ++attempt) {
      std::vector<double> units(space_.size());
      for (double& unit : units) unit = random.uniform();
      const std::vector<double> drawn = distribution.draw(random);
      for (std::size_t k = 0; k < numbers_.size(); ++k) units[numbers_[k]] = drawn[k];
      point = space_.point_at(units);
      if (space_.valid(point) && !tried.contains(point)) return point;
    }
    return pool_.fresh(std::move(point), random, tried);
  }

 private:
  SearchDistribution distribution_at_start(int restart, std::size_t population) const {
    std::vector<double> mean(numbers_.size(), 0.5);
    if (restart > 0) {
      CountedRandom random(seed_, restart, "cmaes restart");
      for (double& entry : mean) entry = random.uniform();
    }
    return {std::move(mean), population};
  }

  SearchDistribution replayed(const TrialHistory& history) const {
    std::vector<std::size_t> place(history.trials.size(), history.trials.size());  // by merit; failed: last
    const std::vector<std::size_t> merit = trials_by_merit(history);
    for (std::size_t k = 0; k < merit.size(); ++k) place[merit[k]] = k;
    std::vector<std::size_t> order(history.trials.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return history.trials[a].number < history.trials[b].number;
    });
    int restart = 0;
    const auto usual = 4 + static_cast<std::size_t>(3 * std::log(static_cast<double>(numbers_.size())));
    SearchDistribution distribution = distribution_at_start(0, usual);
    for (std::size_t begin = 0; begin + distribution.population() <= order.size();) {
      const std::size_t population = distribution.population();
      std::vector<std::size_t> ended;
      for (std::size_t k = begin; k < begin + population; ++k)
        if (history.trials[order[k]].outcome != TrialOutcome::kRunning) ended.push_back(order[k]);
      if (ended.size() < (population + 1) / 2) break;
      std::stable_sort(ended.begin(), ended.end(),
                       [&](std::size_t a, std::size_t b) { return place[a] < place[b]; });
      std::vector<std::vector<double>> points;
      for (const std::size_t index : ended) {
        std::vector<double> units;
        for (const std::size_t parameter : numbers_)
          units.push_back(space_.parameters[parameter].unit_of(history.trials[index].point[parameter]));
        points.push_back(std::move(units));
      }
      distribution.move(points);
      begin += population;
      if (distribution.ended())
        distribution = distribution_at_start(++restart, std::min(kLargestPopulation, 2 * population));
    }
    return distribution;
  }

  std::uint64_t seed_;
  SearchSpace space_;
  PointPool pool_;
  std::unique_ptr<TrialSampler> random_;
  std::vector<std::size_t> numbers_;  // parameters in the distribution
};

}  // namespace

std::unique_ptr<TrialSampler> make_cmaes_sampler(const SamplerSettings& settings, SearchSpace space) {
  return std::make_unique<CmaesSampler>(settings, std::move(space));
}

}  // namespace nadi
