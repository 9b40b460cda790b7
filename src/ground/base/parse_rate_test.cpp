#include "nadi/base/parse_rate.h"

#include <gtest/gtest.h>

namespace nadi::inline ground {
namespace {

double bytes_per_second(std::string_view text) {
  const auto rate = parse_byte_rate(text);
  return rate ? rate->per_second() : -1;
}

TEST(ParseRate, BitsAndBytesDiffer) {
  EXPECT_EQ(bytes_per_second("200 Gbit/s"), 25e9);
  EXPECT_EQ(bytes_per_second("200Gbps"), 25e9);
  EXPECT_EQ(bytes_per_second("25 GB/s"), 25e9);
  EXPECT_EQ(bytes_per_second("1555 GB/s"), 1.555e12);
  EXPECT_EQ(bytes_per_second("0.5 GiB/s"), 536870912);
  EXPECT_EQ(bytes_per_second("12.5 kB/s"), 12500);
  EXPECT_EQ(parse_flop_rate("312 TFLOP/s")->per_second(), 312e12);
  EXPECT_EQ(parse_flop_rate("1 PFLOPS")->per_second(), 1e15);
}

TEST(ParseRate, RefusesWhatHasNoUnitOrAnother) {
  for (const std::string_view text : {"200", "", "GB/s", "25 GB", "25 Gb/s", "-1 GB/s", "0 GB/s", "25  GB/s",
                                      "nan B/s", "1e999 B/s", "25 GFLOP/s", "25 XB/s"})
    EXPECT_FALSE(parse_byte_rate(text)) << text;
  EXPECT_FALSE(parse_flop_rate("312 TB/s"));
  EXPECT_FALSE(parse_flop_rate("312"));
}

TEST(ParseRate, ExactTextIsReadBack) {
  EXPECT_EQ(exact_text(ByteRate{1.555e12}), "1.555 TB/s");
  EXPECT_EQ(exact_text(FlopRate{312e12}), "312 TFLOP/s");
  for (const double rate : {1.0 / 3, 25e9, 1.0 / 3 * 1e12, 536870912.0, 987654321.123, 2.039e12, 19.5e12})
    EXPECT_EQ(parse_byte_rate(exact_text(ByteRate{rate})), ByteRate{rate}) << exact_text(ByteRate{rate});
}

}  // namespace
}  // namespace nadi::inline ground
