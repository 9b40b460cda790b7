// CMA-ES: a normal distribution that moves to where trials are good and takes the shape of the function there
// (Hansen, The CMA evolution strategy: a tutorial, 2016), with a full covariance, which also shrinks where
// trials are bad, and restarts with twice the population (Auger and Hansen, 2005).
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

namespace nadi::inline tuning {
namespace {

// Part of the range. On 13 functions of bench/tune_problems.cpp a quarter is worse after 100 trials (seeds 0 to
// 100).
constexpr double kFirstDeviation = 1.0 / 6;
constexpr double kLeastDeviation = 1e-6;  // below: restart
constexpr double kLeastSquare = 1e-8;     // of a step that is divided by
constexpr std::size_t kLargestPopulation = 256;
constexpr int kDrawsInRange = 20;
constexpr int kDrawsAllowed = 50;

// How far one population of so many points moves the distribution: the defaults of the tutorial, table 1.
struct MoveRates {
  MoveRates(std::size_t parameters, std::size_t points) : dimensions(static_cast<double>(parameters)) {
    // The better half has weights above 0, which sum to 1; the rest pushes the covariance away.
    double sum = 0, squares = 0, rest_sum = 0, rest_squares = 0;
    for (std::size_t k = 0; k < points; ++k) {
      const double weight =
          std::log((static_cast<double>(points) + 1) / 2) - std::log(static_cast<double>(k + 1));
      weights.push_back(weight);
      (weight > 0 ? sum : rest_sum) += weight;
      (weight > 0 ? squares : rest_squares) += weight * weight;
    }
    effective = sum * sum / squares;
    const double effective_rest = rest_squares > 0 ? rest_sum * rest_sum / rest_squares : 0;
    step = (effective + 2) / (dimensions + effective + 5);
    damping = 1 + 2 * std::max(0.0, std::sqrt((effective - 1) / (dimensions + 1)) - 1) + step;
    path = (4 + effective / dimensions) / (dimensions + 4 + 2 * effective / dimensions);
    rank_one = 2 / ((dimensions + 1.3) * (dimensions + 1.3) + effective);
    rank_many = std::min(1 - rank_one, 2 * (effective - 2 + 1 / effective) /
                                           ((dimensions + 2) * (dimensions + 2) + effective));
    // What the rest weighs: no more than keeps the covariance positive.
    double rest = 1 + 2 * effective_rest / (effective + 2);
    if (rank_many > 0)
      rest =
          std::min({rest, 1 + rank_one / rank_many, (1 - rank_one - rank_many) / (dimensions * rank_many)});
    for (double& weight : weights) {
      weight = weight > 0 ? weight / sum : weight < 0 ? rest * weight / -rest_sum : 0;
      weight_sum += weight;
    }
    usual_length = std::sqrt(dimensions) * (1 - 1 / (4 * dimensions) + 1 / (21 * dimensions * dimensions));
    longest_step = std::sqrt(dimensions) + 2 * dimensions / (dimensions + 2);
  }

  double dimensions;
  std::vector<double> weights = {};
  double weight_sum = 0;
  double effective = 0;  // how many points of equal weight would move the mean like this
  double step = 0, damping = 0, path = 0, rank_one = 0, rank_many = 0;
  double usual_length = 0;  // the mean of the length of a standard normal vector
  double longest_step = 0;
};

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
    const MoveRates rates(n, points.size());
    std::vector<std::vector<double>> steps;
    std::vector<double> weights = rates.weights;  // of the covariance
    std::vector<double> move(n, 0.0);
    for (std::size_t k = 0; k < points.size(); ++k) {
      std::vector<double> step(n);
      for (std::size_t i = 0; i < n; ++i) step[i] = (points[k][i] - mean_[i]) / deviation_;
      const double whole_length = standard_length(step);
      const double length = std::min(whole_length, rates.longest_step);
      if (length < whole_length)
        for (double& entry : step) entry *= length / whole_length;
      if (weights[k] > 0)
        for (std::size_t i = 0; i < n; ++i) move[i] += weights[k] * step[i];
      else
        weights[k] *= rates.dimensions / (length * length + kLeastSquare);
      steps.push_back(std::move(step));
    }
    for (std::size_t i = 0; i < n; ++i) mean_[i] = std::clamp(mean_[i] + deviation_ * move[i], 0.0, 1.0);
    const double path_length = follow(move, rates);
    const bool grows = path_length / std::sqrt(1 - std::pow(1 - rates.step, 2.0 * moves_)) <
                       (1.4 + 2 / (rates.dimensions + 1)) * rates.usual_length;
    for (std::size_t i = 0; i < n; ++i)
      shape_path_[i] = (1 - rates.path) * shape_path_[i] +
                       (grows ? std::sqrt(rates.path * (2 - rates.path) * rates.effective) * move[i] : 0.0);
    const double kept = 1 - rates.rank_one - rates.rank_many * rates.weight_sum +
                        (grows ? 0.0 : rates.rank_one * rates.path * (2 - rates.path));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = i; j < n; ++j) {
        double many = 0;
        for (std::size_t k = 0; k < steps.size(); ++k) many += weights[k] * steps[k][i] * steps[k][j];
        double& entry = covariance_[i * n + j];
        entry = kept * entry + rates.rank_one * shape_path_[i] * shape_path_[j] + rates.rank_many * many;
        covariance_[j * n + i] = entry;
      }
    }
    // No wider than the range: where nothing tells points apart, steps would grow for ever.
    deviation_ = std::min(
        1.0, deviation_ * std::exp(rates.step / rates.damping * (path_length / rates.usual_length - 1)));
    if (!root_.decompose(covariance_, n)) ended_ = true;
    double widest = 0;
    for (std::size_t i = 0; i < n; ++i) widest = std::max(widest, covariance_[i * n + i]);
    if (!(deviation_ * std::sqrt(widest) > kLeastDeviation)) ended_ = true;
  }

  bool ended() const { return ended_; }  // too narrow to find anything new

 private:
  // In units of the covariance.
  double standard_length(std::vector<double> step) const {
    root_.solve_lower(step);
    return std::sqrt(std::inner_product(step.begin(), step.end(), step.begin(), 0.0));
  }

  // Adds a move to the path of steps; returns the length of the path.
  double follow(std::vector<double> move, const MoveRates& rates) {
    root_.solve_lower(move);
    double square = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      step_path_[i] = (1 - rates.step) * step_path_[i] +
                      std::sqrt(rates.step * (2 - rates.step) * rates.effective) * move[i];
      square += step_path_[i] * step_path_[i];
    }
    ++moves_;
    return std::sqrt(square);
  }

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

}  // namespace nadi::inline tuning
