#include "nadi/base/rates.h"

#include <array>
#include <cmath>
#include <string_view>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline ground {
namespace {

template <typename Unit>
Nanoseconds time_at(Quantity<Unit> amount, RateOf<Unit> rate) {
  if (amount.count() == 0) return {};
  check(rate.per_second() > 0, "a time was asked for at a rate of 0");
  return from_seconds(static_cast<double>(amount.count()) / rate.per_second());
}

std::string with_prefix(double per_second, std::string_view unit) {
  static constexpr std::array<std::string_view, 6> kPrefixes = {"", "k", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  while (per_second >= 999.5 && prefix + 1 < kPrefixes.size()) {
    per_second /= 1000;
    ++prefix;
  }
  const int digits = per_second >= 99.95 ? 0 : per_second >= 9.995 ? 1 : 2;
  return format("{:.{}f} {}{}/s", per_second, digits, kPrefixes[prefix], unit);
}

}  // namespace

Nanoseconds from_seconds(double seconds) {
  const double nanoseconds = std::ceil(seconds * 1e9);
  if (!(nanoseconds < 9.2e18)) throw_overflow(NanosecondUnit::kName);
  return Nanoseconds{static_cast<std::int64_t>(nanoseconds)};
}

Nanoseconds time_for(Bytes size, ByteRate rate) {
  return time_at(size, rate);
}
Nanoseconds time_for(Flops work, FlopRate rate) {
  return time_at(work, rate);
}

std::string to_string(ByteRate rate) {
  return with_prefix(rate.per_second(), "B");
}
std::string to_string(FlopRate rate) {
  return with_prefix(rate.per_second(), "FLOP");
}

}  // namespace nadi::inline ground
