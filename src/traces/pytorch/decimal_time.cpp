#include "nadi/pytorch/decimal_time.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>
#include <optional>

#include "nadi/pytorch/json_number.h"

namespace nadi::inline traces {

namespace {

// So many digits fit 64 bits whatever they are, with three more from the unit.
constexpr std::size_t kSafeDigits = 15;

DecimalTime fault(DecimalFault which) {
  return {.nanoseconds = Nanoseconds{}, .fault = which};
}

// Eight digits at once: neighbours are joined to pairs, pairs to fours, fours to the number, each with one
// multiplication for all of them.
constexpr std::size_t kWord = 8;
std::optional<std::uint64_t> eight_digits(const char* text) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t word = 0;
  std::memcpy(&word, text, kWord);
  constexpr std::uint64_t kZeros = 0x3030303030303030;
  constexpr std::uint64_t kHighHalves = 0xF0F0F0F0F0F0F0F0;
  word ^= kZeros;  // a digit becomes 0 to 9, and only a digit stays below 10
  if (((word | (word + 0x0606060606060606)) & kHighHalves) != 0) return std::nullopt;
  word = (word * 10 + (word >> 8)) & 0x00FF00FF00FF00FF;
  word = (word * 100 + (word >> 16)) & 0x0000FFFF0000FFFF;
  return (word * 10000 + (word >> 32)) & 0xFFFFFFFF;
}

// Any number: the digits with the point moved by exponent and unit, taken up to the point.
DecimalTime read_slowly(std::string_view text, int unit_digits) {
  const std::optional<JsonNumberParts> parts = split_json_number(text);
  if (!parts) return fault(DecimalFault::kNoNumber);
  const auto digit = [&](std::size_t i) {
    return i < parts->whole.size() ? parts->whole[i] - '0' : parts->fraction[i - parts->whole.size()] - '0';
  };
  const std::size_t digits = parts->whole.size() + parts->fraction.size();
  const std::int64_t point = static_cast<std::int64_t>(parts->whole.size()) + parts->exponent + unit_digits;
  std::uint64_t value = 0;
  for (std::int64_t i = 0; i < point; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (at >= digits && value == 0) break;  // 0e99 is 0, however far the point is
    const std::uint64_t next = at < digits ? static_cast<std::uint64_t>(digit(at)) : 0;
    if (__builtin_mul_overflow(value, std::uint64_t{10}, &value) ||
        __builtin_add_overflow(value, next, &value))
      return fault(DecimalFault::kOutOfRange);
  }
  constexpr auto kLargest = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  if (value > kLargest) return fault(DecimalFault::kOutOfRange);
  if (point >= 0 && static_cast<std::size_t>(point) < digits && digit(static_cast<std::size_t>(point)) >= 5)
    ++value;
  if (value > kLargest) return fault(DecimalFault::kOutOfRange);
  const auto nanoseconds = static_cast<std::int64_t>(value);
  return {.nanoseconds = Nanoseconds{parts->negative ? -nanoseconds : nanoseconds}};
}

}  // namespace

DecimalTime read_decimal_time(std::string_view text, int unit_digits) {
  // What profilers write: digits, a point, and as many digits as the unit has, or no point.
  std::size_t at = 0;
  std::uint64_t value = 0;
  if (text.size() >= kWord) {
    if (const std::optional<std::uint64_t> first = eight_digits(text.data())) {
      value = *first;
      at = kWord;
    }
  }
  const auto take_digits = [&](std::size_t end) {
    for (; at < end && text[at] >= '0' && text[at] <= '9'; ++at)
      value = value * 10 + static_cast<std::uint64_t>(text[at] - '0');
  };
  take_digits(std::min(text.size(), kSafeDigits));
  if (at == 0 || (at > 1 && text[0] == '0')) return read_slowly(text, unit_digits);
  int places = 0;
  if (at < text.size() && text[at] == '.') {
    const std::size_t fraction = ++at;
    take_digits(std::min(text.size(), fraction + static_cast<std::size_t>(unit_digits)));
    places = static_cast<int>(at - fraction);
    if (places == 0) return read_slowly(text, unit_digits);
  }
  if (!is_json_end(text, at)) return read_slowly(text, unit_digits);
  for (; places < unit_digits; ++places) value *= 10;
  return {.nanoseconds = Nanoseconds{static_cast<std::int64_t>(value)}};
}

}  // namespace nadi::inline traces
