// Division of whole numbers, rounded up.
#pragma once

#include <concepts>
#include <type_traits>

namespace nadi::inline ground {

// How many parts of at most `by` make up `value`: divided_up(7, 4) = 2.
template <std::integral T>
constexpr T divided_up(T value, std::type_identity_t<T> by) {
  return (value + by - 1) / by;
}

// The least multiple that holds `value`: rounded_up(7, 4) = 8.
template <std::integral T>
constexpr T rounded_up(T value, std::type_identity_t<T> multiple) {
  return divided_up(value, multiple) * multiple;
}

static_assert(rounded_up(8, 4) == 8 && rounded_up(9, 4) == 12 && rounded_up(0, 4) == 0);

}  // namespace nadi::inline ground
