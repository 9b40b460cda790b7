#include "nadi/prediction/plan_limits.h"

#include <gtest/gtest.h>

#include "nadi/base/error.h"

namespace nadi::inline ask {
namespace {

constexpr std::int64_t kTokens = 65'536;  // of a step: 64 sequences of 1,024

TEST(Budget, IsMoneyForTokensOrForAStep) {
  EXPECT_DOUBLE_EQ(parse_budget("5 $/1M tokens", kTokens), 5);
  EXPECT_DOUBLE_EQ(parse_budget("5$/M tokens", kTokens), 5);
  EXPECT_DOUBLE_EQ(parse_budget("$1200/10B tokens", kTokens), 0.12);  // 1200 / 10,000 millions
  EXPECT_DOUBLE_EQ(parse_budget("0.00001 $ / token", kTokens), 10);
  EXPECT_DOUBLE_EQ(parse_budget("0.065536 $/step", kTokens), 1);  // 65,536 tokens for 0.065536 dollars
}

TEST(Budget, RefusesAnythingElse) {
  for (const char* text : {"", "5", "5 $", "5 $/", "$5 $/step", "5 $/h", "0 $/step", "-1 $/step",
                           "nan $/step", "inf $/step", "5 $/1M tokens please", "5 $/1X tokens", "$/step"})
    EXPECT_THROW(parse_budget(text, kTokens), Error) << text;
}

TEST(Deadline, IsTheTimeOfAStepOrTokensInATime) {
  EXPECT_EQ(parse_deadline("1.5s", kTokens).count(), 1'500'000'000);
  EXPECT_EQ(parse_deadline("2 min", kTokens).count(), 120'000'000'000);
  // 65,536 million tokens are a million steps; a day has 86,400 s.
  EXPECT_EQ(parse_deadline("65.536B tokens in 1 day", kTokens).count(), 86'400'000);
  EXPECT_EQ(parse_deadline("65.536B tokens in 2 weeks", kTokens).count(), 14 * 86'400'000);
  EXPECT_EQ(parse_deadline("65536K tokens in 1000s", kTokens).count(), 1'000'000'000);
  EXPECT_EQ(parse_deadline("65.536M tokens in 0.5h", kTokens).count(), 1'800'000'000);
}

TEST(Deadline, RefusesAnythingElse) {
  for (const char* text : {"", "1.5", "0s", "-2s", "300B tokens", "300B tokens in", "300B tokens in 3",
                           "300B tokens in 30 moons", "300B in 30 days", "300B tokens in 30 days sharp",
                           "1000000T tokens in 1 min", "tokens in 0 days"})
    EXPECT_THROW(parse_deadline(text, kTokens), Error) << text;
}

}  // namespace
}  // namespace nadi::inline ask
