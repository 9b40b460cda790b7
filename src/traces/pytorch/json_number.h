// Numbers in JSON texts, with the exact grammar of JSON: no leading zeros, no bare points, no infinities.
// Integers stay integers.
//
//   const JsonNumber number = read_json_number("18446744073709551615 ");
//   number.kind == JsonNumber::kUint64
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "nadi/input/json_text.h"

namespace nadi::inline traces {

// Whether nothing but white space follows.
constexpr bool is_json_end(std::string_view text, std::size_t at) {
  while (at < text.size() && is_json_space(text[at])) ++at;
  return at == text.size();
}

// The parts of a number, as digits. White space may follow the number.
struct JsonNumberParts {
  bool negative = false;
  std::string_view whole;
  std::string_view fraction;  // "" where there is none
  std::int64_t exponent = 0;  // cut off at a million, which no type here reaches
  std::size_t size = 0;       // of the number without what follows
};
std::optional<JsonNumberParts> split_json_number(std::string_view text);

struct JsonNumber {
  enum Kind : std::uint8_t {
    kNone,    // not a number, or beyond the range of double
    kInt64,   // written as a whole number that fits
    kUint64,  // the same above int64
    kDouble,  // all others
  };
  Kind kind = kNone;
  std::uint64_t bits = 0;  // two's complement, or the bits of the double

  double real() const { return std::bit_cast<double>(bits); }
};
JsonNumber read_any_json_number(std::string_view text);
inline JsonNumber read_json_number(std::string_view text) {
  // Nearly all: a few digits, and nothing or white space behind them.
  constexpr std::size_t kFew = 18;
  std::size_t at = 0;
  std::uint64_t value = 0;
  for (; at < text.size() && at < kFew; ++at) {
    const auto digit = static_cast<unsigned char>(text[at] - '0');
    if (digit > 9) break;
    value = value * 10 + digit;
  }
  const bool plain = at > 0 && (text[0] != '0' || at == 1) && is_json_end(text, at);
  if (plain) [[likely]]
    return {.kind = JsonNumber::kInt64, .bits = value};
  return read_any_json_number(text);
}

// A whole number from 0 on, such as an id; nothing for any other text.
std::optional<std::uint64_t> read_json_id(std::string_view text);

// What JSON does not have and some programs write all the same: NaN, nan, Infinity, inf, -Infinity, -inf.
std::optional<double> read_non_finite(std::string_view text);

}  // namespace nadi::inline traces
