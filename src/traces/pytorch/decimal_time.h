// Times as JSON files write them, decimal numbers of microseconds with a fraction, to whole nanoseconds. A
// double has 53 bits, and a time since 1970 to the nanosecond needs 61: so the digits are read one by one,
// and "1711964646123456.789" is exactly 1711964646123456789 ns.
//
//   const DecimalTime start = read_decimal_time("3847891456651.048", kMicrosecondDigits);
//   if (start.fault == DecimalFault::kNone) use(start.nanoseconds);
//
// Digits beyond the nanosecond are rounded to the nearest, halves away from zero.
#pragma once

#include <cstdint>
#include <string_view>

#include "nadi/base/units.h"

namespace nadi::inline traces {

// Decimal places between the unit of the text and the nanosecond.
constexpr int kMicrosecondDigits = 3;
constexpr int kNanosecondDigits = 0;

enum class DecimalFault : std::uint8_t {
  kNone,
  kNoNumber,    // not a number as JSON writes it
  kOutOfRange,  // beyond 63 bits of nanoseconds
};

struct DecimalTime {
  Nanoseconds nanoseconds;
  DecimalFault fault = DecimalFault::kNone;
};

// White space may follow the number, nothing else.
DecimalTime read_decimal_time(std::string_view text, int unit_digits);

}  // namespace nadi::inline traces
