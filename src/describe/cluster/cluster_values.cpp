#include "nadi/cluster/cluster_values.h"

#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "nadi/base/format.h"
#include "nadi/base/parse_bytes.h"
#include "nadi/base/parse_duration.h"
#include "nadi/base/parse_rate.h"
#include "nadi/base/read_number.h"

namespace nadi::inline describe {
namespace {

// Nobody means more, and sums of such figures stay far from the limits of double and of 63 bits.
constexpr double kMostDollarsPerHour = 1e9;
constexpr double kMostWatts = 1e9;
constexpr double kMostPerSecond = 1e24;

std::string_view unit_text(const JsonValue& value, std::string_view example) {
  if (!value.is_string())
    throw error_at(value, format("'{}' must be a text with a unit", value.path()),
                   format("for example \"{}\"", example));
  return value.as_string();
}

Error no_quantity(const JsonValue& value, std::string_view what, std::string_view example) {
  return error_at(value, format("'{}' is no {}", value.as_string(), what),
                  format("for example \"{}\"", example));
}

std::optional<double> number_with(std::string_view text, std::string_view unit, double most) {
  double number = 0;
  if (!take_number(text, number) || !std::isfinite(number) || number < 0 || number > most)
    return std::nullopt;
  if (text.starts_with(' ')) text.remove_prefix(1);
  return text == unit ? std::optional(number) : std::nullopt;
}

template <typename Rate>
Rate within_limit(const JsonValue& value, const std::optional<Rate>& rate, std::string_view what,
                  std::string_view example) {
  if (!rate || rate->per_second() > kMostPerSecond) throw no_quantity(value, what, example);
  return *rate;
}

}  // namespace

ByteRate byte_rate_of(const JsonValue& value) {
  return within_limit(value, parse_byte_rate(unit_text(value, "200 Gbit/s")),
                      "bandwidth: a positive number and a unit", "200 Gbit/s\" or \"25 GB/s");
}

FlopRate flop_rate_of(const JsonValue& value) {
  return within_limit(value, parse_flop_rate(unit_text(value, "312 TFLOP/s")),
                      "rate of arithmetic: a positive number and a unit", "312 TFLOP/s");
}

Bytes size_of_value(const JsonValue& value) {
  const auto size = parse_bytes(unit_text(value, "40 GiB"));
  if (!size || size->count() < 1) throw no_quantity(value, "size: a number and a unit", "40 GiB");
  return *size;
}

Nanoseconds duration_of(const JsonValue& value) {
  const auto time = parse_duration(unit_text(value, "5 us"));
  if (!time) throw no_quantity(value, "duration: a number and a unit (ns, us, ms, s)", "5 us");
  return *time;
}

double price_of(const JsonValue& value) {
  const auto price = number_with(unit_text(value, "32.77 $/h"), "$/h", kMostDollarsPerHour);
  if (!price) throw no_quantity(value, "price in US dollars per hour", "32.77 $/h");
  return *price;
}

double power_of(const JsonValue& value) {
  const auto power = number_with(unit_text(value, "400 W"), "W", kMostWatts);
  if (!power) throw no_quantity(value, "power in watts", "400 W");
  return *power;
}

double number_of(const JsonValue& value, double least, double most) {
  const double number = value.as_double();
  if (!(number >= least && number <= most))
    throw error_at(value, format("'{}' must be from {} to {}", value.path(), least, most));
  return number;
}

std::int64_t count_of(const JsonValue& value, std::int64_t least, std::int64_t most) {
  const std::int64_t number = value.as_int64();
  if (number < least || number > most)
    throw error_at(value, format("'{}' must be from {} to {}", value.path(), least, most));
  return number;
}

std::string size_text(Bytes size) {
  static constexpr std::array<std::pair<std::int64_t, std::string_view>, 5> kUnits = {{{1ll << 40, "TiB"},
                                                                                       {1ll << 30, "GiB"},
                                                                                       {1'000'000'000, "GB"},
                                                                                       {1ll << 20, "MiB"},
                                                                                       {1ll << 10, "KiB"}}};
  for (const auto& [factor, unit] : kUnits)
    if (size.count() % factor == 0) return format("{} {}", size.count() / factor, unit);
  return format("{} B", size.count());
}

std::string duration_text(Nanoseconds time) {
  static constexpr std::array<std::pair<std::int64_t, std::string_view>, 3> kUnits = {
      {{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "us"}}};
  for (const auto& [factor, unit] : kUnits)
    if (time.count() != 0 && time.count() % factor == 0) return format("{} {}", time.count() / factor, unit);
  return format("{} ns", time.count());
}

std::string price_text(double dollars_per_hour) {
  return format("{} $/h", dollars_per_hour);
}

std::string power_text(double watts) {
  return format("{} W", watts);
}

}  // namespace nadi::inline describe
