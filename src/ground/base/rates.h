// Amounts per second: memory and network bandwidth, arithmetic.
//
//   const ByteRate nvlink{300e9};
//   time_for(Bytes{1} * 1048576, nvlink)      // Nanoseconds, rounded up: 3496 ns
//
// A rate of 0 means that there is none: time_for() then throws, so nothing takes no time by accident.
#pragma once

#include <compare>
#include <string>

#include "nadi/base/units.h"

namespace nadi::inline ground {

template <typename Unit>
class RateOf {
 public:
  constexpr RateOf() = default;
  constexpr explicit RateOf(double per_second) : per_second_(per_second) {}

  constexpr double per_second() const { return per_second_; }
  constexpr auto operator<=>(const RateOf&) const = default;
  friend constexpr RateOf operator*(RateOf rate, double factor) { return RateOf{rate.per_second_ * factor}; }
  friend constexpr RateOf operator/(RateOf rate, double factor) { return RateOf{rate.per_second_ / factor}; }
  friend constexpr RateOf operator+(RateOf a, RateOf b) { return RateOf{a.per_second_ + b.per_second_}; }

 private:
  double per_second_ = 0;
};

using ByteRate = RateOf<ByteUnit>;
using FlopRate = RateOf<FlopUnit>;

// Seconds as whole nanoseconds, rounded up; a time of more than 292 years throws Error (infeasible).
Nanoseconds from_seconds(double seconds);
constexpr double to_seconds(Nanoseconds time) {
  return static_cast<double>(time.count()) * 1e-9;
}

Nanoseconds time_for(Bytes size, ByteRate rate);
Nanoseconds time_for(Flops work, FlopRate rate);

// For people: "25.0 GB/s" (powers of 1000, as vendors state them), "312 TFLOP/s".
std::string to_string(ByteRate rate);
std::string to_string(FlopRate rate);

}  // namespace nadi::inline ground
