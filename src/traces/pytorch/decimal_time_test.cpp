#include "nadi/pytorch/decimal_time.h"

#include <gtest/gtest.h>

#include <limits>
#include <string_view>

namespace nadi::inline traces {
namespace {

std::int64_t micro(std::string_view text) {
  const DecimalTime time = read_decimal_time(text, kMicrosecondDigits);
  EXPECT_EQ(time.fault, DecimalFault::kNone) << text;
  return time.nanoseconds.count();
}

DecimalFault fault(std::string_view text, int digits = kMicrosecondDigits) {
  return read_decimal_time(text, digits).fault;
}

TEST(DecimalTime, IsExactWhereADoubleIsNot) {
  EXPECT_EQ(micro("3847891456651.048"), 3847891456651048);
  EXPECT_EQ(micro("1711964646123456.789"), 1711964646123456789);
  EXPECT_EQ(micro("0"), 0);
  EXPECT_EQ(micro("0.001"), 1);
  EXPECT_EQ(micro("12"), 12000);
  EXPECT_EQ(micro("12.5"), 12500);
  EXPECT_EQ(micro("12.5 \n"), 12500);
  EXPECT_EQ(micro("-3.25"), -3250);
  EXPECT_EQ(micro("-0"), 0);
  EXPECT_EQ(read_decimal_time("1790857026000000000", kNanosecondDigits).nanoseconds.count(),
            1790857026000000000);
  EXPECT_EQ(read_decimal_time("7.4", kNanosecondDigits).nanoseconds.count(), 7);
}

TEST(DecimalTime, RoundsDigitsBeyondTheNanosecond) {
  EXPECT_EQ(micro("1.0004"), 1000);
  EXPECT_EQ(micro("1.0005"), 1001);
  EXPECT_EQ(micro("-1.0005"), -1001);
  EXPECT_EQ(micro("1.00049999999999999999999"), 1000);
  EXPECT_EQ(micro("0.0000001"), 0);
  EXPECT_EQ(micro("9.9999"), 10000);
}

TEST(DecimalTime, TakesExponents) {
  EXPECT_EQ(micro("3.8478e12"), 3847800000000000);
  EXPECT_EQ(micro("1E2"), 100000);
  EXPECT_EQ(micro("1e+2"), 100000);
  EXPECT_EQ(micro("12345e-3"), 12345);  // 12.345 us
  EXPECT_EQ(micro("5e-4"), 1);          // half a nanosecond
  EXPECT_EQ(micro("4e-4"), 0);
  EXPECT_EQ(micro("5e-5"), 0);
  EXPECT_EQ(micro("0e999999999999"), 0);
  EXPECT_EQ(micro("0.00e99"), 0);
  EXPECT_EQ(micro("1e-999999999999"), 0);
}

// 2^63 - 1 is 9223372036854775807.
TEST(DecimalTime, KnowsItsRange) {
  EXPECT_EQ(micro("9223372036854775.807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(micro("-9223372036854775.807"), -std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(fault("9223372036854775.8074"), DecimalFault::kNone);
  EXPECT_EQ(fault("9223372036854775.8075"), DecimalFault::kOutOfRange);
  EXPECT_EQ(fault("9223372036854775.808"), DecimalFault::kOutOfRange);
  EXPECT_EQ(fault("18446744073709551.615"), DecimalFault::kOutOfRange);
  EXPECT_EQ(fault("18446744073709551.6155"), DecimalFault::kOutOfRange);
  EXPECT_EQ(fault("1790857026000000000"), DecimalFault::kOutOfRange);
  EXPECT_EQ(fault("1e99"), DecimalFault::kOutOfRange);
  EXPECT_EQ(fault("1e999999999999"), DecimalFault::kOutOfRange);
  EXPECT_EQ(fault("9223372036854775807", kNanosecondDigits), DecimalFault::kNone);
  EXPECT_EQ(fault("9223372036854775808", kNanosecondDigits), DecimalFault::kOutOfRange);
}

TEST(DecimalTime, TakesOnlyNumbers) {
  for (const std::string_view text :
       {"",    " ",  "-",    ".5",   "5.",     "1.e3", "01",  "007.1", "1e",  "1e+",  "+1",
        "1 2", "1x", "0x10", "null", "\"12\"", "NaN",  "inf", "1.2.3", "--1", "1.5us"})
    EXPECT_EQ(fault(text), DecimalFault::kNoNumber) << text;
}

}  // namespace
}  // namespace nadi::inline traces
