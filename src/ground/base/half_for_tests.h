// For tests: rounding to 16-bit types as one would do it with a pencil, in double precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace nadi::inline ground {

// The plain version: a number with `bits` of mantissa and smallest exponent `lowest` is a whole multiple of
// its last place, so divide, round to a whole number with ties to even, and multiply. Exact in double.
inline double rounded(double value, int bits, int lowest, double limit) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), lowest);
  const double last_place = std::ldexp(1.0, exponent - bits);
  const double result = std::nearbyint(value / last_place) * last_place;
  return std::fabs(result) >= limit ? std::copysign(std::numeric_limits<double>::infinity(), value) : result;
}
inline double rounded_to_f16(double value) {
  return rounded(value, 10, -14, 65536);
}
inline double rounded_to_bf16(double value) {
  return rounded(value, 7, -126, 0x1p128);
}

}  // namespace nadi::inline ground
