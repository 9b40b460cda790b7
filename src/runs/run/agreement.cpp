#include "nadi/run/agreement.h"

#include <algorithm>
#include <numeric>

#include "nadi/comm/communicator.h"

namespace nadi::inline runs {

// By rank.
template <class T>
std::vector<T> Agreement::all(T value) const {
  std::vector<T> values(static_cast<std::size_t>(world_.size()), value);
  if (world_.size() > 1)
    world_.wait(world_.all_gather(kWorld, std::as_bytes(std::span(&value, 1)),
                                  std::as_writable_bytes(std::span(values))));
  return values;
}

bool Agreement::any(bool value) const {
  return std::ranges::max(all<std::int64_t>(value ? 1 : 0)) > 0;
}

std::int64_t Agreement::sum(std::int64_t value) const {
  const std::vector<std::int64_t> values = all(value);
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

double Agreement::sum(double value) const {
  const std::vector<double> values = all(value);
  return std::accumulate(values.begin(), values.end(), 0.0);
}

std::vector<double> Agreement::sums(std::span<const double> values) const {
  if (world_.size() == 1 || values.empty()) return {values.begin(), values.end()};
  std::vector<double> gathered(values.size() * static_cast<std::size_t>(world_.size()));
  world_.wait(world_.all_gather(kWorld, std::as_bytes(values), std::as_writable_bytes(std::span(gathered))));
  std::vector<double> sums(values.size(), 0);
  for (std::size_t i = 0; i < gathered.size(); ++i) sums[i % values.size()] += gathered[i];
  return sums;
}

double Agreement::maximum(double value) const {
  return std::ranges::max(all(value));
}

std::vector<double> Agreement::each(double value) const {
  return all(value);
}

double Agreement::of(Rank rank, double value) const {
  return all(value)[static_cast<std::size_t>(to_number(rank))];
}

std::int64_t Agreement::of(Rank rank, std::int64_t value) const {
  return all(value)[static_cast<std::size_t>(to_number(rank))];
}

}  // namespace nadi::inline runs
