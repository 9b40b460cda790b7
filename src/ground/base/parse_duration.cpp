#include "nadi/base/parse_duration.h"

#include <charconv>
#include <cmath>
#include <utility>

namespace nadi::inline ground {

std::optional<Nanoseconds> parse_duration(std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"min", 60e9}, {"s", 1e9}};
  constexpr double kLimit = 9.2e18;
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || !std::isfinite(number) || number < 0 || std::signbit(number))
    return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (unit.empty() && number == 0) return Nanoseconds{};
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const auto& [name, nanoseconds] : kUnits)
    if (unit == name && number * nanoseconds < kLimit) return Nanoseconds{std::llround(number * nanoseconds)};
  return std::nullopt;
}

}  // namespace nadi::inline ground
