#include "nadi/pytorch/json_number.h"
#include "nadi/base/ascii.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

namespace nadi::inline traces {

namespace {

constexpr std::int64_t kLargestExponent = 1'000'000;
// 19 digits fit 64 bits unsigned whatever they are.
constexpr std::size_t kSafeIntegerDigits = 19;

std::string_view without_trailing_space(std::string_view text) {
  while (!text.empty() && is_json_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view take_digits(std::string_view text, std::size_t& at) {
  const std::size_t begin = at;
  while (at < text.size() && is_digit(text[at])) ++at;
  return text.substr(begin, at - begin);
}

JsonNumber read_double(std::string_view text) {
  const std::optional<JsonNumberParts> parts = split_json_number(text);
  double value = 0;
  if (!parts || std::from_chars(text.data(), text.data() + parts->size, value).ec != std::errc{}) return {};
  return {.kind = JsonNumber::kDouble, .bits = std::bit_cast<std::uint64_t>(value)};
}

}  // namespace

std::optional<JsonNumberParts> split_json_number(std::string_view text) {
  text = without_trailing_space(text);
  JsonNumberParts parts;
  std::size_t at = 0;
  parts.negative = !text.empty() && text[0] == '-';
  if (parts.negative) ++at;
  parts.whole = take_digits(text, at);
  if (parts.whole.empty() || (parts.whole.size() > 1 && parts.whole[0] == '0')) return std::nullopt;
  if (at < text.size() && text[at] == '.') {
    parts.fraction = take_digits(text, ++at);
    if (parts.fraction.empty()) return std::nullopt;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    const bool negative = at < text.size() && text[at] == '-';
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    const std::string_view digits = take_digits(text, at);
    if (digits.empty()) return std::nullopt;
    for (const char c : digits) parts.exponent = std::min(parts.exponent * 10 + (c - '0'), kLargestExponent);
    if (negative) parts.exponent = -parts.exponent;
  }
  if (at != text.size()) return std::nullopt;
  parts.size = at;
  return parts;
}

JsonNumber read_any_json_number(std::string_view text) {
  const bool negative = !text.empty() && text[0] == '-';
  const std::size_t begin = negative ? 1 : 0;
  std::size_t at = begin;
  std::uint64_t value = 0;
  for (const std::size_t end = std::min(text.size(), begin + kSafeIntegerDigits);
       at < end && is_digit(text[at]); ++at)
    value = value * 10 + static_cast<std::uint64_t>(text[at] - '0');
  if (at == begin || (text[begin] == '0' && at > begin + 1)) return {};
  if (at < text.size() && is_digit(text[at])) {  // the 20th digit
    const auto last = static_cast<std::uint64_t>(text[at++] - '0');
    const bool fits = !__builtin_mul_overflow(value, std::uint64_t{10}, &value) &&
                      !__builtin_add_overflow(value, last, &value) &&
                      (at == text.size() || !is_digit(text[at]));
    if (!fits) return read_double(text);
  }
  if (!is_json_end(text, at)) return read_double(text);
  constexpr auto kLargest = std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  if (negative && value > kLargest + 1) return read_double(text);
  if (negative) return {.kind = JsonNumber::kInt64, .bits = std::uint64_t{0} - value};
  return {.kind = value > kLargest ? JsonNumber::kUint64 : JsonNumber::kInt64, .bits = value};
}

std::optional<std::uint64_t> read_json_id(std::string_view text) {
  const JsonNumber number = read_json_number(text);
  if (number.kind == JsonNumber::kUint64) return number.bits;
  if (number.kind == JsonNumber::kInt64 && text[0] != '-') return number.bits;
  return std::nullopt;
}

std::optional<double> read_non_finite(std::string_view text) {
  text = without_trailing_space(text);
  const double infinity = std::numeric_limits<double>::infinity();
  if (text == "NaN" || text == "nan" || text == "-nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity" || text == "inf") return infinity;
  if (text == "-Infinity" || text == "-inf") return -infinity;
  return std::nullopt;
}

}  // namespace nadi::inline traces
