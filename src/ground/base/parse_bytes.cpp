#include "nadi/base/parse_bytes.h"

#include <array>
#include <cctype>
#include <string>

namespace nadi::inline ground {
namespace {

struct Prefix {
  std::string_view name;  // lower case
  std::int64_t factor;
};
constexpr std::array kPrefixes{
    Prefix{"", 1},
    Prefix{"k", 1'000},
    Prefix{"m", 1'000'000},
    Prefix{"g", 1'000'000'000},
    Prefix{"t", 1'000'000'000'000},
    Prefix{"ki", std::int64_t{1} << 10},
    Prefix{"mi", std::int64_t{1} << 20},
    Prefix{"gi", std::int64_t{1} << 30},
    Prefix{"ti", std::int64_t{1} << 40},
};

std::optional<std::int64_t> factor_of(std::string_view unit) {
  std::string name;
  for (const char letter : unit) name += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  if (name.ends_with('b')) name.pop_back();
  for (const Prefix& prefix : kPrefixes)
    if (prefix.name == name) return prefix.factor;
  return std::nullopt;
}

}  // namespace

std::optional<Bytes> parse_bytes(std::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789.");
  const std::string_view number = text.substr(0, end);
  std::string_view unit = end == std::string_view::npos ? "" : text.substr(end);
  if (unit.size() > 1 && unit.starts_with(' ')) unit.remove_prefix(1);
  const std::optional<std::int64_t> factor = factor_of(unit);
  if (!factor) return std::nullopt;

  // In whole numbers, so that 0.1 MB is 100000 bytes: digits * factor / 10^decimals.
  std::int64_t digits = 0, divisor = 1;
  bool has_point = false, has_digit = false;
  for (const char c : number) {
    if (c == '.') {
      if (has_point) return std::nullopt;
      has_point = true;
      continue;
    }
    has_digit = true;
    if (__builtin_mul_overflow(digits, 10, &digits) || __builtin_add_overflow(digits, c - '0', &digits) ||
        (has_point && __builtin_mul_overflow(divisor, 10, &divisor)))
      return std::nullopt;
  }
  if (!has_digit || number.ends_with('.')) return std::nullopt;
  std::int64_t scaled = 0;
  if (__builtin_mul_overflow(digits, *factor, &scaled) || scaled % divisor != 0) return std::nullopt;
  return Bytes{scaled / divisor};
}

}  // namespace nadi::inline ground
