#include "nadi/tune/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "nadi/base/error.h"

namespace nadi::inline tuning {
namespace {

const std::map<std::string, ParameterValue, std::less<>> kValues{{"gpus", std::int64_t{16}},
                                                                 {"tensor", std::int64_t{4}},
                                                                 {"pipeline", std::int64_t{2}},
                                                                 {"rate", 0.5},
                                                                 {"algo", std::string("Ring")},
                                                                 {"on", true},
                                                                 {"env.NCCL_ALGO", std::string("Tree")}};

const ParameterValue* find_value(std::string_view name) {
  const auto found = kValues.find(name);
  return found == kValues.end() ? nullptr : &found->second;
}

std::string result_of(const std::string& text) {
  const auto value = Expression::parse(text, "test").value(&find_value);
  return value ? to_json_text(*value) : "nothing";
}

// "message | excerpt's last line", which has the carets.
std::string mistake_in(const std::string& text) {
  try {
    const Expression expression = Expression::parse(text, "test");
    std::vector<std::string> names;
    for (const auto& [name, value] : kValues) names.push_back(name);
    expression.check(
        [](std::string_view name) -> std::optional<ValueType> {
          const ParameterValue* value = find_value(name);
          return value == nullptr ? std::nullopt : std::optional(type_of_value(*value));
        },
        names);
    expression.value(&find_value);
  } catch (const Error& error) {
    const std::string place = error.place().column ? std::to_string(*error.place().column) + ": " : "";
    return place + error.message();
  }
  return "none";
}

TEST(Expression, FollowsTheOrderOfOperators) {
  EXPECT_EQ(result_of("2 + 3 * 4"), "14");
  EXPECT_EQ(result_of("(2 + 3) * 4"), "20");
  EXPECT_EQ(result_of("-2 * -3 - 1"), "5");
  EXPECT_EQ(result_of("1 + 1 == 2 and not false or false"), "true");
  EXPECT_EQ(result_of("true || false && false"), "true");
  EXPECT_EQ(result_of("!(1 > 2)"), "true");
  EXPECT_EQ(result_of("gpus % (tensor * pipeline) == 0"), "true");
  EXPECT_EQ(result_of("env.NCCL_ALGO == 'Tree' and algo in ['Ring', \"Tree\"]"), "true");
}

TEST(Expression, WholeNumbersStayWholeAndRoundAsInPython) {
  EXPECT_EQ(result_of("7 // 2"), "3");
  EXPECT_EQ(result_of("-7 // 2"), "-4");
  EXPECT_EQ(result_of("-7 % 3"), "2");
  EXPECT_EQ(result_of("7 % -3"), "-2");
  EXPECT_EQ(result_of("6 / 4"), "1.5");
  EXPECT_EQ(result_of("floor(6 / 4) + ceil(6 / 4)"), "3");
  EXPECT_EQ(result_of("max(1, gpus // 3, 2) + min(4, 3) + abs(-2)"), "10");  // 5 + 3 + 2
  EXPECT_EQ(result_of("divides(4, gpus) and not divides(3, gpus)"), "true");
  EXPECT_EQ(result_of("rate * 4 == 2"), "true");
}

TEST(Expression, WhatHasNoValueDecidesNothing) {
  EXPECT_EQ(result_of("missing + 1"), "nothing");
  EXPECT_EQ(result_of("missing > 1 or true"), "true");
  EXPECT_EQ(result_of("missing > 1 and false"), "false");
  EXPECT_EQ(result_of("missing > 1 and true"), "nothing");
}

TEST(Expression, MistakesHaveTheirPlace) {
  EXPECT_EQ(mistake_in("gpus % (tensor"), "15: expected ')'");
  EXPECT_EQ(mistake_in("gpus = 4"), "6: unexpected '='");
  EXPECT_EQ(mistake_in("1 < 2 < 3"), "7: comparisons cannot be chained");
  EXPECT_EQ(mistake_in("gpus + "), "8: the expression ends too early");
  EXPECT_EQ(mistake_in("tenzor == 1"), "1: unknown name 'tenzor'");
  EXPECT_EQ(mistake_in("algo + 1"), "1: 'algo' is a text, and a number is needed here");
  EXPECT_EQ(mistake_in("algo == 1"), "1: a text and a number are never equal");
  EXPECT_EQ(mistake_in("gpus and on"), "1: 'gpus' is a number, and a truth value is needed here");
  EXPECT_EQ(mistake_in("1 // (gpus - 16)"), "1: division by zero");
  EXPECT_EQ(mistake_in("9223372036854775807 + gpus"), "1: the whole number is too large");
  EXPECT_EQ(mistake_in("sqrt(4)"), "1: unknown function 'sqrt'");
  EXPECT_EQ(mistake_in("min(4)"), "1: min takes 2 or more arguments, not 1");
  EXPECT_EQ(mistake_in("'open"), "1: a text without its closing quote");
  EXPECT_EQ(mistake_in("1.2.3"), "1: '1.2.3' is no number");
  EXPECT_EQ(mistake_in("gpus $ 2"), "6: unexpected '$ 2'");
  EXPECT_THAT(mistake_in(std::string(300, '(')), testing::HasSubstr("nested more than 100 deep"));
  EXPECT_THAT(mistake_in(std::string(5000, '1')), testing::HasSubstr("an expression of 5000 letters"));
}

TEST(Expression, NamesAreListedOnce) {
  EXPECT_THAT(Expression::parse("b + a * b + min(c, a)", "test").names(),
              testing::ElementsAre("b", "a", "c"));
}

}  // namespace
}  // namespace nadi::inline tuning
