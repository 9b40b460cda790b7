#include "nadi/sampling/parzen_estimator.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "nadi/sampling/normal_distribution.h"

namespace nadi::inline tuning {
namespace {

constexpr std::size_t kFullWeight = 25;  // the newest trials that count whole

// Ramp from 1/n for the oldest to 1, then ones for the newest, and 1 for the kernel over the whole space.
std::vector<double> kernel_weights(std::size_t points) {
  std::vector<double> weights(points + 1, 1.0);
  if (points > kFullWeight) {
    const std::size_t ramp = points - kFullWeight;
    const double first = 1.0 / static_cast<double>(points);
    for (std::size_t i = 0; i < ramp; ++i)
      weights[i] =
          ramp == 1 ? first : first + (1 - first) * static_cast<double>(i) / static_cast<double>(ramp - 1);
  }
  return weights;
}

std::vector<double> kernel_widths(const std::vector<double>& centres) {
  const std::size_t n = centres.size();
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return centres[a] < centres[b]; });
  const double least = 1 / std::min(100.0, static_cast<double>(n) + 2);
  std::vector<double> widths(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double here = centres[order[i]];
    double gap = 0;
    if (i > 0) gap = std::max(gap, here - centres[order[i - 1]]);
    if (i + 1 < n) gap = std::max(gap, centres[order[i + 1]] - here);
    if (n == 1) gap = std::max(here, 1 - here);
    widths[order[i]] = std::clamp(gap, least, 1.0);
  }
  return widths;
}

}  // namespace

ParzenEstimator::ParzenEstimator(const SearchSpace& space, std::vector<std::size_t> parameters,
                                 const std::vector<std::span<const double>>& points)
    : space_(space), parameters_(std::move(parameters)) {
  std::vector<std::span<const double>> used;
  for (const auto& point : points) {
    if (std::none_of(parameters_.begin(), parameters_.end(),
                     [&](std::size_t p) { return std::isnan(point[p]); }))
      used.push_back(point);
  }
  const std::vector<double> weights = kernel_weights(used.size());
  sums_.resize(weights.size());
  std::partial_sum(weights.begin(), weights.end(), sums_.begin());
  for (const double weight : weights) log_weights_.push_back(std::log(weight / sums_.back()));
  numeric_.resize(parameters_.size());
  choices_.resize(parameters_.size());
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    const SearchParameter& parameter = space.parameters[parameters_[k]];
    if (parameter.kind == ParameterKind::kChoice) {
      for (const auto& point : used) choices_[k].push_back(point[parameters_[k]]);
      continue;
    }
    Numeric& numeric = numeric_[k];
    for (const auto& point : used) numeric.centre.push_back(parameter.unit_of(point[parameters_[k]]));
    numeric.width = kernel_widths(numeric.centre);
    numeric.centre.push_back(0.5);
    numeric.width.push_back(1.0);
    for (std::size_t i = 0; i < numeric.centre.size(); ++i)
      numeric.log_mass.push_back(
          log_normal_mass(-numeric.centre[i] / numeric.width[i], (1 - numeric.centre[i]) / numeric.width[i]));
  }
}

std::vector<double> ParzenEstimator::draw(CountedRandom& random) const {
  const double place = random.uniform() * sums_.back();
  const auto kernel =
      std::min(kernels() - 1,
               static_cast<std::size_t>(std::upper_bound(sums_.begin(), sums_.end(), place) - sums_.begin()));
  std::vector<double> values;
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    const SearchParameter& parameter = space_.parameters[parameters_[k]];
    const double share = random.uniform();
    if (parameter.kind == ParameterKind::kChoice) {
      // Each choice has 1 / kernels more than its own weight 1.
      const double count = static_cast<double>(*parameter.count());
      const double own = kernel < choices_[k].size() ? 1.0 : 0.0;
      const double all = own + count / static_cast<double>(kernels());
      if (share * all < own)
        values.push_back(choices_[k][kernel]);
      else
        values.push_back(
            std::min(count - 1, std::floor((share * all - own) * static_cast<double>(kernels()))));
      continue;
    }
    const double centre = numeric_[k].centre[kernel];
    const double width = numeric_[k].width[kernel];
    const double z = truncated_normal_quantile(share, -centre / width, (1 - centre) / width);
    values.push_back(parameter.value_at(centre + width * z));
  }
  return values;
}

double ParzenEstimator::log_kernel(std::size_t k, std::size_t kernel, double value) const {
  const SearchParameter& parameter = space_.parameters[parameters_[k]];
  if (parameter.kind == ParameterKind::kChoice) {
    const double extra = 1.0 / static_cast<double>(kernels());
    const double own = kernel < choices_[k].size() ? 1.0 : 0.0;
    const double weight = extra + (own > 0 && choices_[k][kernel] == value ? 1.0 : 0.0);
    return std::log(weight / (own + static_cast<double>(*parameter.count()) * extra));
  }
  const Numeric& numeric = numeric_[k];
  const double centre = numeric.centre[kernel];
  const double width = numeric.width[kernel];
  const double unit = parameter.unit_of(value);
  if (!parameter.count())
    return log_normal_pdf((unit - centre) / width) - std::log(width) - numeric.log_mass[kernel];
  // The mass of the value's cell, whose edges lie half a step away: the range of units has them, too.
  const double low = parameter.unit_of(value - parameter.step / 2);
  const double high = parameter.unit_of(value + parameter.step / 2);
  return log_normal_mass((low - centre) / width, (high - centre) / width) - numeric.log_mass[kernel];
}

double ParzenEstimator::log_density(std::span<const double> values) const {
  std::vector<double> logs(kernels());
  double largest = -INFINITY;
  for (std::size_t kernel = 0; kernel < kernels(); ++kernel) {
    logs[kernel] = log_weights_[kernel];
    for (std::size_t k = 0; k < parameters_.size(); ++k) logs[kernel] += log_kernel(k, kernel, values[k]);
    largest = std::max(largest, logs[kernel]);
  }
  double sum = 0;
  for (const double entry : logs) sum += std::exp(entry - largest);
  return largest + std::log(sum);
}

}  // namespace nadi::inline tuning
