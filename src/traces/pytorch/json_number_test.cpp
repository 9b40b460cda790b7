#include "nadi/pytorch/json_number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "nadi/input/json_text.h"

namespace nadi::inline traces {
namespace {

TEST(JsonNumber, KeepsIntegersWhole) {
  const auto expect = [](std::string_view text, JsonNumber::Kind kind, std::uint64_t bits) {
    const JsonNumber number = read_json_number(text);
    EXPECT_EQ(number.kind, kind) << text;
    EXPECT_EQ(number.bits, bits) << text;
  };
  expect("0", JsonNumber::kInt64, 0);
  expect("-0", JsonNumber::kInt64, 0);
  expect("42 \n", JsonNumber::kInt64, 42);
  expect("-1", JsonNumber::kInt64, ~std::uint64_t{0});
  expect("9223372036854775807", JsonNumber::kInt64, 9223372036854775807u);
  expect("-9223372036854775808", JsonNumber::kInt64, 9223372036854775808u);
  expect("9223372036854775808", JsonNumber::kUint64, 9223372036854775808u);
  expect("18446744073709551615", JsonNumber::kUint64, 18446744073709551615u);
}

TEST(JsonNumber, ReadsTheRestAsDouble) {
  const auto real = [](std::string_view text) {
    const JsonNumber number = read_json_number(text);
    EXPECT_EQ(number.kind, JsonNumber::kDouble) << text;
    return number.real();
  };
  EXPECT_EQ(real("1.5"), 1.5);
  EXPECT_EQ(real("-0.25 "), -0.25);
  EXPECT_EQ(real("1e3"), 1000.0);
  EXPECT_EQ(real("18446744073709551616"), 18446744073709551616.0);
  EXPECT_EQ(real("-9223372036854775809"), -9223372036854775808.0);
  EXPECT_EQ(real("123456789012345678901234567890"), 123456789012345678901234567890.0);
}

TEST(JsonNumber, RefusesWhatJsonDoesNotHave) {
  for (const std::string_view text : {"", "-", "01", "-01", "1.", ".1", "1e", "1e999", "+1", "inf", "NaN",
                                      "true", "1a", "1 1", "00", "1_000"})
    EXPECT_EQ(read_json_number(text).kind, JsonNumber::kNone) << text;
}

TEST(JsonNumber, ReadsIds) {
  EXPECT_EQ(read_json_id("17"), 17u);
  EXPECT_EQ(read_json_id("18446744073709551615"), 18446744073709551615u);
  for (const std::string_view text : {"-1", "1.0", "1e3", "\"1\"", "", "18446744073709551616"})
    EXPECT_EQ(read_json_id(text), std::nullopt) << text;
}

TEST(JsonNumber, KnowsHowOthersWriteInfinity) {
  EXPECT_EQ(read_non_finite("inf "), std::numeric_limits<double>::infinity());
  EXPECT_EQ(read_non_finite("-Infinity"), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(*read_non_finite("NaN")));
  EXPECT_EQ(read_non_finite("infinite"), std::nullopt);
}

TEST(JsonGrammar, AgreesWithNlohmann) {
  const std::string_view texts[] = {"[]",
                                    "{}",
                                    "[[]]",
                                    "[1, 2]",
                                    "[1,,2]",
                                    "[1,]",
                                    "[,1]",
                                    "[1 2]",
                                    "{\"a\":1}",
                                    "{\"a\":1,}",
                                    "{\"a\"}",
                                    "{a:1}",
                                    "{\"a\":{\"b\":[true,false,null]}}",
                                    "[tru]",
                                    "[truefalse]",
                                    "[\"\\n\\u00e9\"]",
                                    "[\"\\x\"]",
                                    "[\"\\u12g4\"]",
                                    "[\"\\u12\"]",
                                    "[\"open]",
                                    "[1}",
                                    "[",
                                    "]",
                                    "",
                                    " ",
                                    "1",
                                    "\"a\"",
                                    "nul",
                                    "[1]]",
                                    "[1] ",
                                    " [1]",
                                    "[-]",
                                    "[01]",
                                    "[1e5, -2.5E-3]",
                                    "[\"\\\"]\"]",
                                    "{\"a\":[}",
                                    "[{\"a\":1}, {\"b\":[[2]]}]",
                                    "{,}",
                                    "[\"\\\\\"]",
                                    "[1]x"};
  for (const std::string_view text : texts) EXPECT_EQ(is_json(text), nlohmann::json::accept(text)) << text;
}

// Every single change of a character: both say the same.
TEST(JsonGrammar, AgreesWithNlohmannOnDamagedTexts) {
  const std::string text = R"([[4, -5.5e1, "c\u0041\"uda:0"], {"k": [true, null, []]}])";
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const char c : std::string_view("[]{},:\"\\01e.-+tn u")) {
      std::string damaged = text;
      damaged[at] = c;
      EXPECT_EQ(is_json(damaged), nlohmann::json::accept(damaged)) << damaged;
    }
    EXPECT_EQ(is_json(text.substr(0, at)), nlohmann::json::accept(text.substr(0, at))) << text.substr(0, at);
  }
}

TEST(JsonGrammar, StandsDeepNesting) {
  EXPECT_TRUE(is_json(std::string(1'000'000, '[') + std::string(1'000'000, ']')));
  EXPECT_FALSE(is_json(std::string(1'000'000, '[')));
}

}  // namespace
}  // namespace nadi::inline traces
