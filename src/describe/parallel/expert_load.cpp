#include "nadi/parallel/expert_load.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/random.h"
#include "nadi/model/model_config.h"

namespace nadi::inline describe {
namespace {

std::vector<double> zipf_loads(std::int64_t experts, double exponent) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(experts));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [](std::int64_t expert) {
    return std::pair(random_uniform_double({.seed = 1}, static_cast<std::uint64_t>(expert)), expert);
  });
  std::vector<double> loads(order.size());
  for (std::size_t n = 0; n < order.size(); ++n)
    loads[static_cast<std::size_t>(order[n])] = std::pow(static_cast<double>(n + 1), -exponent);
  return loads;
}

double busiest(std::span<const double> loads, std::int64_t ranks) {
  const std::size_t each = loads.size() / static_cast<std::size_t>(ranks);
  const double sum = std::accumulate(loads.begin(), loads.end(), 0.0);
  double most = 0;
  for (std::size_t first = 0; first < loads.size(); first += each) {
    const std::span<const double> own = loads.subspan(first, each);
    most = std::max(most, std::accumulate(own.begin(), own.end(), 0.0));
  }
  return sum > 0 ? most * static_cast<double>(ranks) / sum : 1;
}

}  // namespace

double busiest_rank(const ModelConfig& config, const Plan& plan, const ExpertLoad& load) {
  if (load.layers.empty()) return load.zipf > 0 ? busiest(zipf_loads(config.experts, load.zipf), plan.ep) : 1;
  double sum = 0;
  for (const std::vector<double>& layer : load.layers) {
    if (std::ssize(layer) != config.experts)
      throw input_error(
          {}, format("loads of {} experts, and {} has {}", layer.size(), config.name, config.experts));
    sum += busiest(layer, plan.ep);
  }
  return sum / static_cast<double>(load.layers.size());
}

}  // namespace nadi::inline describe
