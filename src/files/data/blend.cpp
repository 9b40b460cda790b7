#include "nadi/data/blend.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "nadi/base/error.h"

namespace nadi::inline files {

Blend blend_samples(std::span<const double> weights, std::int64_t samples) {
  check(!weights.empty() && weights.size() <= std::size_t{std::numeric_limits<std::uint16_t>::max()} + 1,
        "a blend of no datasets, or of too many");
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<double> shares;
  for (const double weight : weights) shares.push_back(weight / sum);
  std::vector<std::int64_t> taken(weights.size());
  Blend blend;
  blend.dataset.reserve(static_cast<std::size_t>(samples));
  blend.sample.reserve(static_cast<std::size_t>(samples));
  for (std::int64_t i = 0; i < samples; ++i) {
    const double step = std::max(static_cast<double>(i), 1.0);
    std::size_t furthest = 0;
    double furthest_lag = -std::numeric_limits<double>::infinity();
    for (std::size_t d = 0; d < shares.size(); ++d) {
      const double lag = shares[d] * step - static_cast<double>(taken[d]);
      if (lag <= furthest_lag) continue;
      furthest = d;
      furthest_lag = lag;
    }
    blend.dataset.push_back(static_cast<std::uint16_t>(furthest));
    blend.sample.push_back(taken[furthest]++);
  }
  return blend;
}

std::int64_t blend_samples_wanted(double share, std::int64_t samples) {
  constexpr double kReserve = 1.005;
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(samples) * share * kReserve));
}

}  // namespace nadi::inline files
