#include "nadi/sampling/gaussian_process_sampler.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "nadi/sampling/acquisition_search.h"
#include "nadi/sampling/gaussian_process.h"
#include "nadi/sampling/halton.h"
#include "nadi/sampling/normal_distribution.h"
#include "nadi/sampling/samplers.h"
#include "nadi/sampling/success_classifier.h"

namespace nadi::inline tuning {
namespace {

constexpr std::size_t kRunningConsidered = 32;
// Closer to a running trial than this share of the length over which the model changes, little is learned.
// With 8 workers on the problems of bench/tune_problems.cpp, 0.01 to 0.1 find what 0 finds.
constexpr double kRunningRadius = 0.01;
// Trials that fail. The expected improvement times the probability to succeed is right for one trial; it also
// sends trial after trial deep into what fails, where a small chance stands against a large promise. So a
// point where failure is likelier than success counts next to nothing: the power is large, but leaves a slope
// to climb. And an improvement that is small in units of the values' spread is not worth a failure: it is
// added everywhere, so that trials do not halve the last gap before the edge for ever. Measured on the
// problems edge_* of bench/tune_problems.cpp (docs/performance.md).
constexpr double kEvenChance = 0.5;
constexpr double kReluctance = 20;
// Where the classifier is sure of an edge that it has wrong, trial after trial fails at a point that it takes
// for an even chance. So the chance that is asked for rises with the share of the last trials that failed,
// once the first ones have found out where anything succeeds at all: half of the last ten failed, and it is
// 0.7. Found on the seeds 2000 to 2050; docs/performance.md has others.
constexpr std::size_t kLastTrials = 10;
constexpr std::int64_t kFirstTrials = 20;
constexpr double kUsualFailures = 0.1;  // a share that asks for no more than an even chance
constexpr double kCaution = 0.5;        // by how much of the share beyond it the chance rises
constexpr double kWorthAFailure = 1e-3;

// What the models are fitted to: trials by index, better ones first, and one number for each.
struct ModelledTrials {
  std::vector<std::size_t> trials;
  std::vector<double> values;
};

// Weights on the simplex, uniform: gaps between sorted uniforms would do, logarithms do the same.
std::vector<double> simplex_weights(std::size_t count, CountedRandom& random) {
  std::vector<double> weights(count);
  for (double& weight : weights) weight = -std::log(random.uniform_open());
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  return weights;
}

ModelledTrials scalarised(const TrialHistory& history, CountedRandom& random) {
  ModelledTrials modelled;
  std::vector<std::vector<double>> values;
  for (std::size_t i = 0; i < history.trials.size(); ++i) {
    const ObservedTrial& trial = history.trials[i];
    if (trial.outcome != TrialOutcome::kComplete || trial.values.size() != history.objectives()) continue;
    std::vector<double> minimum = minimized(history, trial);
    if (!std::all_of(minimum.begin(), minimum.end(), [](double v) { return std::isfinite(v); })) continue;
    modelled.trials.push_back(i);
    values.push_back(std::move(minimum));
  }
  if (values.empty()) return modelled;
  const std::vector<double> weights = simplex_weights(history.objectives(), random);
  std::vector<double> low = values[0];
  std::vector<double> high = values[0];
  for (const auto& value : values) {
    for (std::size_t k = 0; k < low.size(); ++k) {
      low[k] = std::min(low[k], value[k]);
      high[k] = std::max(high[k], value[k]);
    }
  }
  for (const auto& value : values) {
    double largest = 0;
    double sum = 0;
    for (std::size_t k = 0; k < low.size(); ++k) {
      const double share = high[k] > low[k] ? (value[k] - low[k]) / (high[k] - low[k]) : 0;
      largest = std::max(largest, weights[k] * share);
      sum += weights[k] * share;
    }
    modelled.values.push_back(largest + 0.05 * sum);
  }
  return modelled;
}

ModelledTrials modelled_trials(const TrialHistory& history, CountedRandom& random) {
  ModelledTrials modelled;
  if (history.objectives() > 1) {
    modelled = scalarised(history, random);
  } else {
    const auto merits = merit_values(history);
    for (std::size_t i = 0; i < merits.size(); ++i) {
      if (!merits[i]) continue;
      modelled.trials.push_back(i);
      modelled.values.push_back(*merits[i]);
    }
  }
  // Better first: feasible before infeasible.
  std::vector<std::size_t> order(modelled.trials.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<double> violations;
  for (const std::size_t trial : modelled.trials) violations.push_back(violation(history.trials[trial]));
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return violations[a] != violations[b] ? violations[a] < violations[b]
                                          : modelled.values[a] < modelled.values[b];
  });
  ModelledTrials sorted;
  for (const std::size_t index : order) {
    sorted.trials.push_back(modelled.trials[index]);
    sorted.values.push_back(modelled.values[index]);
  }
  return sorted;
}

// The best half, and of the rest every k-th.
ModelledTrials thinned(const ModelledTrials& all, std::size_t most) {
  if (all.trials.size() <= most) return all;
  ModelledTrials kept;
  const std::size_t best = most / 2;
  const std::size_t spread = most - best;
  for (std::size_t i = 0; i < most; ++i) {
    const std::size_t index = i < best ? i : best + (i - best) * (all.trials.size() - best) / spread;
    kept.trials.push_back(all.trials[index]);
    kept.values.push_back(all.values[index]);
  }
  return kept;
}

GaussianInputs inputs_of(const SearchSpace& space, const TrialHistory& history,
                         std::span<const std::size_t> trials) {
  GaussianInputs inputs;
  inputs.parameters = space.size();
  for (const SearchParameter& parameter : space.parameters)
    inputs.choice.push_back(parameter.kind == ParameterKind::kChoice);
  for (const std::size_t index : trials) {
    const std::vector<double> features = model_features(space, history.trials[index].point);
    inputs.points.insert(inputs.points.end(), features.begin(), features.end());
  }
  return inputs;
}

bool told_nothing(const ObservedTrial& trial) {
  return trial.outcome == TrialOutcome::kFailed ||
         (trial.outcome == TrialOutcome::kPruned && trial.intermediate.empty());
}

// A process whose values at most the threshold mean that the constraints are met.
struct ConstraintModel {
  std::optional<GaussianProcess> process;
  double threshold = 0;  // in units of the process
};

// The worst constraint of each trial, in units of their spread.
ConstraintModel constraint_model(const GaussianProcessQuestion& question,
                                 std::span<const std::size_t> modelled) {
  const TrialHistory& history = question.history;
  std::vector<std::size_t> trials;
  std::vector<double> values;
  for (const std::size_t index : modelled) {
    const ObservedTrial& trial = history.trials[index];
    if (trial.constraints.empty()) continue;
    const double worst = *std::max_element(trial.constraints.begin(), trial.constraints.end());
    trials.push_back(index);
    values.push_back(std::isfinite(worst) ? worst : 1);
  }
  ConstraintModel model;
  const bool any_bad = std::any_of(values.begin(), values.end(), [](double value) { return value > 0; });
  if (!any_bad || values.size() < 2) return model;
  double spread = 0;
  for (const double value : values) spread += std::abs(value);
  spread /= static_cast<double>(values.size());
  for (double& value : values) value = std::clamp(value / spread, -5.0, 5.0);
  const double least = *std::min_element(values.begin(), values.end());
  const double largest = *std::max_element(values.begin(), values.end());
  // A process counts from the least value in units of the range.
  model.threshold = largest > least ? (0 - least) / (largest - least) : 0;
  if (largest > least)
    model.process = GaussianProcess::fit(inputs_of(question.space, history, trials), std::move(values),
                                         {.warp = false, .iterations = 20});
  return model;
}

// Knows the modelled trials, which have values, and the latest that failed: they tell what fails now.
std::optional<SuccessClassifier> success_model(const GaussianProcessQuestion& question,
                                               std::span<const std::size_t> modelled) {
  const TrialHistory& history = question.history;
  std::vector<std::size_t> trials(modelled.begin(), modelled.end());
  std::vector<bool> success(trials.size(), true);
  for (std::size_t i = history.trials.size(); i-- > 0 && trials.size() < question.most_points * 3 / 2;) {
    if (!told_nothing(history.trials[i])) continue;
    trials.push_back(i);
    success.push_back(false);
  }
  if (trials.size() == modelled.size()) return std::nullopt;
  return SuccessClassifier::fit(inputs_of(question.space, history, trials), success);
}

// The logarithm of the probability that the value is at most `threshold`. Adds to the gradient.
double log_probability_below(const GaussianProcess& process, double threshold, std::span<const double> point,
                             std::span<double> gradient) {
  GaussianGradient slopes;
  if (!gradient.empty()) {
    slopes.mean.resize(point.size());
    slopes.deviation.resize(point.size());
  }
  const GaussianPrediction at = process.predict(point, slopes);
  const double z = (threshold - at.mean) / at.deviation;
  const LogNormalCdf below = log_normal_cdf(z);
  for (std::size_t d = 0; d < gradient.size(); ++d)
    gradient[d] -= (slopes.mean[d] + z * slopes.deviation[d]) / at.deviation * below.slope;
  return below.value;
}

// Adds to the gradient.
double log_expected_improvement(const GaussianProcess& process, double best, std::span<const double> point,
                                std::span<double> gradient) {
  GaussianGradient slopes;
  if (!gradient.empty()) {
    slopes.mean.resize(point.size());
    slopes.deviation.resize(point.size());
  }
  const GaussianPrediction at = process.predict(point, slopes);
  const double z = (best - at.mean) / at.deviation;
  const double improvement = log_improvement(z);
  if (!gradient.empty()) {
    // EI = s h(z): by the mean -cdf(z), by the deviation pdf(z).
    const double by_deviation = std::exp(log_normal_pdf(z) - improvement) / at.deviation;
    const double by_mean = z > 0 ? -normal_cdf(z) * std::exp(-improvement) / at.deviation
                                 : -by_deviation * normal_mills_ratio(z);
    for (std::size_t d = 0; d < gradient.size(); ++d)
      gradient[d] += by_mean * slopes.mean[d] + by_deviation * slopes.deviation[d];
  }
  return std::log(at.deviation) + improvement;
}

// The logarithm of a sum, from the logarithms of both parts; the gradient is that of `value`.
void add_to_improvement(double log_part, double& value, std::span<double> gradient) {
  const double larger = std::max(value, log_part);
  const double sum = larger + std::log1p(std::exp(std::min(value, log_part) - larger));
  for (double& entry : gradient) entry *= std::exp(value - sum);
  value = sum;
}

// What a point must have to be worth a trial: see kEvenChance and kCaution.
double least_chance(const TrialHistory& history) {
  std::vector<std::pair<std::int64_t, bool>> ended;  // number, whether it failed
  for (const ObservedTrial& trial : history.trials)
    if (trial.outcome != TrialOutcome::kRunning && trial.number >= kFirstTrials)
      ended.emplace_back(trial.number, told_nothing(trial));
  const std::size_t count = std::min(kLastTrials, ended.size());
  const auto last = ended.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(ended.begin(), last, ended.end(), std::greater<>());
  const auto failed = std::count_if(ended.begin(), last, [](const auto& trial) { return trial.second; });
  const double share = static_cast<double>(failed) / static_cast<double>(kLastTrials);
  return kEvenChance + kCaution * std::max(0.0, share - kUsualFailures);
}

// `least` is what least_chance() says. Adds to the gradient.
double log_worth_of_chance(const SuccessClassifier& success, double least, std::span<const double> point,
                           std::span<double> gradient) {
  std::vector<double> slopes(gradient.size());
  const double chance = success.log_probability(point, slopes);
  const double below = std::min(0.0, chance - std::log(least));
  const double power = below < 0 ? 1 + kReluctance : 1;
  for (std::size_t d = 0; d < gradient.size(); ++d) gradient[d] += power * slopes[d];
  return chance + kReluctance * below;
}

// The logarithm of the product of 1 - exp(-q), q the squared distance from a running trial in radii: 0 far
// from all. Adds to the gradient.
double log_distance_factor(const GaussianInputs& running, std::span<const double> weights,
                           std::span<const double> point, std::span<double> gradient) {
  double value = 0;
  for (std::size_t i = 0; i < running.size(); ++i) {
    const std::span<const double> other = running.row(i);
    double square = 1e-12;
    for (std::size_t d = 0; d < point.size(); ++d) {
      const double difference = point[d] - other[d];
      square += weights[d] * (running.choice[d] ? (difference == 0 ? 0.0 : 1.0) : difference * difference);
    }
    value += std::log(-std::expm1(-square));
    if (gradient.empty()) continue;
    const double slope = 1 / std::expm1(square);
    for (std::size_t d = 0; d < point.size(); ++d)
      if (!running.choice[d]) gradient[d] += slope * 2 * weights[d] * (point[d] - other[d]);
  }
  return value;
}

}  // namespace

std::optional<std::vector<double>> propose_by_gaussian_process(const GaussianProcessQuestion& question,
                                                               CountedRandom& random) {
  const TrialHistory& history = question.history;
  const ModelledTrials all = modelled_trials(history, random);
  if (all.trials.size() < 2) return std::nullopt;
  const ModelledTrials modelled = thinned(all, question.most_points);
  const ConstraintModel constraints = constraint_model(question, modelled.trials);
  const std::optional<SuccessClassifier> success = success_model(question, modelled.trials);

  GaussianProcess process =
      GaussianProcess::fit(inputs_of(question.space, history, modelled.trials), modelled.values, {});
  // Trials that run count as if their means had been seen. The least of these means counts among the best: an
  // improvement that a running trial is expected to bring is no reason to go there again.
  double best = std::numeric_limits<double>::infinity();
  std::vector<std::size_t> running;
  for (std::size_t i = history.trials.size(); i-- > 0 && running.size() < kRunningConsidered;) {
    if (history.trials[i].outcome != TrialOutcome::kRunning) continue;
    const double mean = process.assume_mean_at(model_features(question.space, history.trials[i].point));
    best = std::min(best, mean);
    running.push_back(i);
  }
  const GaussianInputs busy = inputs_of(question.space, history, running);
  std::vector<double> weights;  // 1 / radius^2
  for (std::size_t d = 0; d < question.space.size(); ++d)
    weights.push_back(1 / std::pow(kRunningRadius * std::min(1.0, process.length(d)), 2));
  // Improvements are measured from the smallest mean at a feasible trial.
  const bool found_feasible = violation(history.trials[modelled.trials[0]]) == 0;
  for (std::size_t i = 0; i < modelled.trials.size(); ++i)
    if (violation(history.trials[modelled.trials[i]]) == 0) best = std::min(best, process.mean_at(i));

  AcquisitionProblem problem{.space = question.space,
                             .pool = question.pool,
                             .tried = question.tried,
                             .best_points = {},
                             .lengths = {},
                             .rate = {}};
  for (std::size_t i = 0; i < std::min<std::size_t>(5, modelled.trials.size()); ++i)
    problem.best_points.push_back(history.trials[modelled.trials[i]].point);
  for (std::size_t d = 0; d < question.space.size(); ++d) problem.lengths.push_back(process.length(d));
  const double log_worth = std::log(kWorthAFailure * process.prior_deviation());
  const double least = least_chance(history);
  problem.rate = [&](std::span<const double> point, std::span<double> gradient) {
    std::fill(gradient.begin(), gradient.end(), 0.0);
    double value = 0;
    if (found_feasible) value += log_expected_improvement(process, best, point, gradient);
    if (found_feasible && success) add_to_improvement(log_worth, value, gradient);
    if (constraints.process)
      value += log_probability_below(*constraints.process, constraints.threshold, point, gradient);
    if (success) value += log_worth_of_chance(*success, least, point, gradient);
    value += log_distance_factor(busy, weights, point, gradient);
    return value;
  };
  return maximize_acquisition(problem, random);
}

namespace {

class GaussianProcessSampler final : public TrialSampler {
 public:
  GaussianProcessSampler(const SamplerSettings& settings, SearchSpace space)
      : space_(std::move(space)),
        pool_(space_),
        seed_(settings.seed),
        start_(make_quasi_random_sampler(settings, space_)) {}

  std::optional<std::vector<double>> suggest(const TrialHistory& history,
                                             std::int64_t number) const override {
    const auto told =
        std::count_if(history.trials.begin(), history.trials.end(), [](const ObservedTrial& trial) {
          return trial.outcome == TrialOutcome::kComplete || told_nothing(trial);
        });
    const auto wanted = std::clamp<std::int64_t>(static_cast<std::int64_t>(space_.size()) + 3, 5, 10);
    if (told < wanted) return start_->suggest(history, number);
    CountedRandom random(seed_, number, "gp");
    const TriedPoints tried(history);
    const auto proposal = propose_by_gaussian_process(
        {.space = space_, .pool = pool_, .tried = tried, .history = history}, random);
    if (!proposal) return start_->suggest(history, number);
    return pool_.fresh(*proposal, random, tried);
  }

 private:
  SearchSpace space_;
  PointPool pool_;
  std::uint64_t seed_;
  std::unique_ptr<TrialSampler> start_;
};

}  // namespace

std::unique_ptr<TrialSampler> make_gaussian_process_sampler(const SamplerSettings& settings,
                                                            SearchSpace space) {
  return std::make_unique<GaussianProcessSampler>(settings, std::move(space));
}

}  // namespace nadi::inline tuning
