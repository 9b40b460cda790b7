#include "nadi/study/python_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace nadi::inline tuning {
namespace {

using testing::HasSubstr;

std::string refusal(std::string_view text) {
  try {
    check_json(text);
  } catch (const PythonJsonError& error) {
    EXPECT_GE(error.at(), text.data());
    EXPECT_LE(error.at(), text.data() + text.size());
    return error.what();
  }
  return "taken";
}

TEST(PythonJson, TakesWhatPythonWrites) {
  for (const std::string_view text :
       {"null", "true", "-0", "1e5", "-1.5E-3", "NaN", "Infinity", "-Infinity", R"("\ud800\"é")", "[]", "{}",
        R"({"a":[1,{"b":null}]})", " [ 1 , 2 ] \n", "123456789012345678901234567890"})
    EXPECT_EQ(refusal(text), "taken") << text;
}

TEST(PythonJson, RefusesTheRestWithItsPlace) {
  EXPECT_THAT(refusal(""), HasSubstr("the end"));
  EXPECT_THAT(refusal("[1,]"), HasSubstr("expected a value, found ']'"));
  EXPECT_THAT(refusal("{\"a\" 1}"), HasSubstr("expected ':'"));
  EXPECT_THAT(refusal("{'a': 1}"), HasSubstr("expected a string"));
  EXPECT_THAT(refusal("01"), HasSubstr("expected the end of the value"));
  EXPECT_THAT(refusal("1."), HasSubstr("expected a digit"));
  EXPECT_THAT(refusal("-NaN"), HasSubstr("expected a digit"));
  EXPECT_THAT(refusal("nul"), HasSubstr("expected a value"));
  EXPECT_THAT(refusal("\"a\tb\""), HasSubstr("control character"));
  EXPECT_THAT(refusal("\"\xff\""), HasSubstr("UTF-8"));
  EXPECT_THAT(refusal(R"("\x")"), HasSubstr("escape"));
  EXPECT_THAT(refusal(R"("\u12g4")"), HasSubstr("\\u"));
  EXPECT_THAT(refusal("\"abc"), HasSubstr("end of the string"));
  EXPECT_THAT(refusal(std::string(201, '[') + std::string(201, ']')), HasSubstr("deeper than 200"));
  EXPECT_EQ(refusal(std::string(200, '[') + std::string(200, ']')), "taken");
  EXPECT_THAT(refusal(std::string(1000000, '[')), HasSubstr("deeper than 200"));
}

TEST(PythonJson, ReadsNumbers) {
  EXPECT_TRUE(std::isnan(json_number("NaN")));
  EXPECT_EQ(json_number("-Infinity"), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(json_number("1e999"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(json_number("-1e999"), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(json_number("1e-999"), 0.0);
  EXPECT_EQ(json_number("0.1"), 0.1);
  EXPECT_EQ(json_integer("-7"), -7);
  EXPECT_EQ(json_integer("7.0"), 7);
  EXPECT_THROW(json_integer("7.5"), PythonJsonError);
  EXPECT_THROW(json_integer("9223372036854775808"), PythonJsonError);
  EXPECT_THROW(json_integer("1e30"), PythonJsonError);
  EXPECT_THROW(json_number("\"1\""), PythonJsonError);
}

TEST(PythonJson, DecodesStrings) {
  EXPECT_EQ(json_string(R"("a\n\"\\\/\u00e9\u20ac\ud83d\ude00")"), "a\n\"\\/é€😀");
  EXPECT_EQ(json_string(R"("\ud83d x\ude00")"), "\xEF\xBF\xBD x\xEF\xBF\xBD");
  EXPECT_EQ(json_string(R"("\ud83d\u0041")"),
            "\xEF\xBF\xBD"
            "A");
}

TEST(PythonJson, LastOfEqualKeysCounts) {
  const auto members = json_members(R"({"a": 1, "b": 2, "a": 3})");
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(members[0].value, "3");
  std::string many = "{";
  for (int i = 0; i < 100; ++i) many += "\"k" + std::to_string(i % 50) + "\": " + std::to_string(i) + ",";
  many.back() = '}';
  const auto fifty = json_members(many);
  ASSERT_EQ(fifty.size(), 50u);
  EXPECT_EQ(fifty[7].value, "57");
}

TEST(PythonJson, WritesWhatItReads) {
  for (const double number : {0.0, -0.0, 1.0, 0.1, 1e300, 5e-324, 123456789.0, 1e16, -2.5}) {
    std::string text;
    append_json_number(number, text);
    EXPECT_EQ(json_number(text), number) << text;
    EXPECT_EQ(json_type(text), JsonType::kFloat) << text;
  }
  for (const std::string_view string : {"", "a\"b\\c\n\t\x01", "é😀"}) {
    std::string text;
    append_json_string(string, text);
    EXPECT_EQ(json_string(text), string);
  }
  std::string text;
  append_json_string(
      "a\xff"
      "b",
      text);
  EXPECT_EQ(text,
            "\"a\xEF\xBF\xBD"
            "b\"");
}

}  // namespace
}  // namespace nadi::inline tuning
