#include "nadi/sampling/halton.h"

#include <array>
#include <vector>

#include "nadi/base/random.h"

namespace nadi::inline tuning {
namespace {

constexpr std::array<std::uint32_t, kHaltonDimensions> first_primes() {
  std::array<std::uint32_t, kHaltonDimensions> primes{};
  std::size_t count = 0;
  for (std::uint32_t candidate = 2; count < primes.size(); ++candidate) {
    bool prime = true;
    for (std::size_t i = 0; i < count && primes[i] * primes[i] <= candidate; ++i)
      if (candidate % primes[i] == 0) prime = false;
    if (prime) primes[count++] = candidate;
  }
  return primes;
}
constexpr auto kPrimes = first_primes();

}  // namespace

double scrambled_halton(std::uint64_t seed, std::uint64_t index, std::int64_t dimension) {
  const std::uint32_t base = kPrimes[static_cast<std::size_t>(dimension)];
  std::vector<std::uint32_t> permutation(base);
  double value = 0;
  double weight = 1.0 / base;
  for (std::uint64_t place = 0; weight > 0x1p-53; ++place, weight /= base) {
    // Fisher and Yates, with the numbers of this dimension and place.
    const RandomKey key{
        .seed = seed, .step = place, .site = site_of("halton") + static_cast<std::uint64_t>(dimension)};
    for (std::uint32_t i = 0; i < base; ++i) {
      const auto j =
          static_cast<std::uint32_t>((static_cast<std::uint64_t>(random_word(key, i)) * (i + 1)) >> 32);
      permutation[i] = permutation[j];
      permutation[j] = i;
    }
    value += weight * permutation[index % base];
    index /= base;
  }
  return value < 1 ? value : 0x1.fffffffffffffp-1;
}

}  // namespace nadi::inline tuning
