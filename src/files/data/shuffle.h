// The numbers 0 to count - 1 in an order that only the key decides.
#pragma once

#include <cstdint>
#include <vector>

#include "nadi/base/random.h"

namespace nadi::inline files {

// Every order is equally likely, as far as 53 random bits per choice allow. `count` is at most 2^32.
std::vector<std::uint32_t> shuffled_order(std::int64_t count, const RandomKey& key);

// Without shuffling: 0, 1, 2, ...
std::vector<std::uint32_t> natural_order(std::int64_t count);

}  // namespace nadi::inline files
