#include "nadi/base/parse_rate.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "nadi/base/format.h"

namespace nadi::inline ground {
namespace {

struct RatePrefix {
  std::string_view name;
  double factor;
};
constexpr std::array kRatePrefixes{
    RatePrefix{"P", 1e15},
    RatePrefix{"T", 1e12},
    RatePrefix{"G", 1e9},
    RatePrefix{"M", 1e6},
    RatePrefix{"k", 1e3},
    RatePrefix{"K", 1e3},
    RatePrefix{"", 1},
    RatePrefix{"Ki", 1024.},
    RatePrefix{"Mi", 1048576.},
    RatePrefix{"Gi", 1073741824.},
    RatePrefix{"Ti", 1099511627776.},
};

struct RateUnit {
  std::string_view name;
  double divisor;  // how many of them make one of what is counted
};
constexpr std::array kByteUnits{RateUnit{"bit/s", 8}, RateUnit{"bps", 8}, RateUnit{"B/s", 1}};
constexpr std::array kFlopUnits{RateUnit{"FLOP/s", 1}, RateUnit{"FLOPS", 1}};

template <typename Units>
std::optional<double> parse_per_second(std::string_view text, const Units& units) {
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || !std::isfinite(number) || number <= 0) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const RateUnit& known : units) {
    if (!unit.ends_with(known.name)) continue;
    const std::string_view prefix = unit.substr(0, unit.size() - known.name.size());
    for (const RatePrefix& entry : kRatePrefixes)
      if (entry.name == prefix) {
        const double rate = number * entry.factor / known.divisor;
        return std::isfinite(rate) ? std::optional(rate) : std::nullopt;
      }
  }
  return std::nullopt;
}

template <typename Units>
std::string exact_rate(double per_second, std::string_view unit, const Units& units) {
  for (const RatePrefix& prefix : kRatePrefixes) {
    if (per_second < prefix.factor && prefix.factor != 1) continue;
    const std::string text = format("{} {}{}", per_second / prefix.factor, prefix.name, unit);
    if (prefix.factor == 1 || parse_per_second(text, units) == per_second) return text;
  }
  return format("{} {}", per_second, unit);
}

}  // namespace

std::optional<ByteRate> parse_byte_rate(std::string_view text) {
  const auto rate = parse_per_second(text, kByteUnits);
  return rate ? std::optional(ByteRate{*rate}) : std::nullopt;
}

std::optional<FlopRate> parse_flop_rate(std::string_view text) {
  const auto rate = parse_per_second(text, kFlopUnits);
  return rate ? std::optional(FlopRate{*rate}) : std::nullopt;
}

std::string exact_text(ByteRate rate) {
  return exact_rate(rate.per_second(), "B/s", kByteUnits);
}
std::string exact_text(FlopRate rate) {
  return exact_rate(rate.per_second(), "FLOP/s", kFlopUnits);
}

}  // namespace nadi::inline ground
