// Quantities with a unit: byte counts, floating-point operations, durations. They do not mix, convert only
// by name, and refuse to overflow: a sum that does not fit 63 bits throws Error (infeasible) instead of
// wrapping round to a plausible wrong figure.
//
//   Bytes size = 4_B * 1024;             Flops work{2 * m * n * k};
//   to_string(size)  == "4.0 KiB"        to_string(work) == "1.5 TFLOP"
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace nadi::inline ground {

[[noreturn]] void throw_overflow(std::string_view unit);

// A count of `Unit`, kept as a signed 64-bit integer. Unit::kName is used in messages.
template <typename Unit>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(std::int64_t count) : count_(count) {}

  constexpr std::int64_t count() const { return count_; }
  constexpr auto operator<=>(const Quantity&) const = default;

  constexpr Quantity& operator+=(Quantity other) {
    if (__builtin_add_overflow(count_, other.count_, &count_)) throw_overflow(Unit::kName);
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    if (__builtin_sub_overflow(count_, other.count_, &count_)) throw_overflow(Unit::kName);
    return *this;
  }
  constexpr Quantity& operator*=(std::int64_t factor) {
    if (__builtin_mul_overflow(count_, factor, &count_)) throw_overflow(Unit::kName);
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
  friend constexpr Quantity operator*(Quantity a, std::int64_t factor) { return a *= factor; }
  friend constexpr Quantity operator*(std::int64_t factor, Quantity a) { return a *= factor; }

 private:
  std::int64_t count_ = 0;
};

struct ByteUnit {
  static constexpr std::string_view kName = "bytes";
};
struct FlopUnit {
  static constexpr std::string_view kName = "floating-point operations";
};
struct NanosecondUnit {
  static constexpr std::string_view kName = "nanoseconds";
};

using Bytes = Quantity<ByteUnit>;
using Flops = Quantity<FlopUnit>;
using Nanoseconds = Quantity<NanosecondUnit>;

constexpr Bytes operator""_B(unsigned long long n) {
  return Bytes{static_cast<std::int64_t>(n)};
}
constexpr Bytes operator""_KiB(unsigned long long n) {
  return Bytes{static_cast<std::int64_t>(n)} * 1024;
}
constexpr Bytes operator""_MiB(unsigned long long n) {
  return 1_KiB * static_cast<std::int64_t>(n) * 1024;
}
constexpr Bytes operator""_GiB(unsigned long long n) {
  return 1_MiB * static_cast<std::int64_t>(n) * 1024;
}

// a * b, or Error (infeasible) naming `what` when it does not fit.
std::int64_t checked_multiply(std::int64_t a, std::int64_t b, std::string_view what);

// For people: three significant figures and a prefix. Bytes use powers of 1024 (KiB, MiB, GiB), FLOPs and
// plain counts powers of 1000.
std::string to_string(Bytes bytes);
std::string to_string(Flops flops);
std::string to_string(Nanoseconds duration);

// 124439808 -> "124,439,808"
std::string with_thousands(std::int64_t count);

}  // namespace nadi::inline ground
