// Whether a computation may start a simulation. A simulator with a roofline counts whole nanoseconds, and the
// event queue of ASTRA-sim's analytical network stops at a first computation of 0 ns.
#pragma once

#include <cstdint>

namespace nadi::inline traces {

// What the fastest devices do in a nanosecond: 10 TB/s and 10 PFLOP/s.
inline constexpr std::int64_t kBytesOfANanosecond = 10'000;
inline constexpr std::int64_t kFlopsOfANanosecond = 10'000'000;

// Whether some device does this in less than a nanosecond.
constexpr bool may_take_no_time(std::int64_t flops, std::int64_t bytes) {
  return bytes < kBytesOfANanosecond && flops < kFlopsOfANanosecond;
}

}  // namespace nadi::inline traces
