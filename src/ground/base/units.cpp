#include "nadi/base/units.h"

#include <array>
#include <cmath>
#include <span>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline ground {
namespace {

// `value` in the largest prefix that keeps it at 1 or more: whole numbers below `base`, three significant
// figures above.
std::string scaled(std::int64_t value, double base, std::span<const std::string_view> suffixes) {
  const double magnitude = std::abs(static_cast<double>(value));
  if (magnitude < base) return format("{} {}", value, suffixes[0]);
  double divided = static_cast<double>(value);
  std::size_t step = 0;
  // 999.5 and above would print as 1000 or 1.00e3: move on to the next prefix.
  while (std::abs(divided) >= base * 0.9995 && step + 1 < suffixes.size()) {
    divided /= base;
    ++step;
  }
  const double absolute = std::abs(divided);
  const int decimals = absolute >= 99.95 ? 0 : absolute >= 9.995 ? 1 : 2;
  return format("{:.{}f} {}", divided, decimals, suffixes[step]);
}

}  // namespace

void throw_overflow(std::string_view unit) {
  throw Error{ErrorKind::kInfeasible,
              {},
              format("a count of {} exceeds 2^63 - 1", unit),
              "use a smaller batch size, sequence length or model"};
}

std::int64_t checked_multiply(std::int64_t a, std::int64_t b, std::string_view what) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw_overflow(what);
  return product;
}

std::string to_string(Bytes bytes) {
  static constexpr std::array<std::string_view, 6> kSuffixes{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  return scaled(bytes.count(), 1024.0, kSuffixes);
}

std::string to_string(Flops flops) {
  static constexpr std::array<std::string_view, 7> kSuffixes{"FLOP",  "kFLOP", "MFLOP", "GFLOP",
                                                             "TFLOP", "PFLOP", "EFLOP"};
  return scaled(flops.count(), 1000.0, kSuffixes);
}

std::string to_string(Nanoseconds duration) {
  static constexpr std::array<std::string_view, 4> kSuffixes{"ns", "us", "ms", "s"};
  return scaled(duration.count(), 1000.0, kSuffixes);
}

std::string with_thousands(std::int64_t count) {
  std::string digits = format("{}", count);
  const std::size_t first = count < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

}  // namespace nadi::inline ground
