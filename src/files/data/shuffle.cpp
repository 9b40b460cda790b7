// Fisher and Yates: the last place gets any of the numbers, the one before it any that are left, and so on.

#include "nadi/data/shuffle.h"

#include <numeric>
#include <utility>

namespace nadi::inline files {

std::vector<std::uint32_t> natural_order(std::int64_t count) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

std::vector<std::uint32_t> shuffled_order(std::int64_t count, const RandomKey& key) {
  std::vector<std::uint32_t> order = natural_order(count);
  for (std::size_t left = order.size(); left > 1; --left) {
    // The largest random number is 1 - 2^-53: times `left`, rounded, it stays below `left`.
    const double chosen = random_uniform_double(key, left - 1) * static_cast<double>(left);
    std::swap(order[left - 1], order[static_cast<std::size_t>(chosen)]);
  }
  return order;
}

}  // namespace nadi::inline files
