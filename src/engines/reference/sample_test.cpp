// Drawing tokens: by hand for single rows, and by counting over many.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "nadi/base/random.h"
#include "nadi/graph/ops.h"
#include "nadi/reference/problem_for_tests.h"

namespace nadi::inline engines {
namespace {

struct Settings {
  double temperature = 1, top_k = 0, top_p = 1;
};

// The tokens of `rows` rows with the same logits, the first of them sample number `first`.
Doubles drawn(const Doubles& logits, std::int64_t rows, const Settings& settings, double first = 0) {
  Problem p;
  const auto columns = static_cast<std::int64_t>(logits.size());
  Doubles all;
  for (std::int64_t row = 0; row < rows; ++row) all.insert(all.end(), logits.begin(), logits.end());
  const TensorId next = p.builder.variable(
      {.name = "next", .shape = Shape{rows, 1}, .dtype = DType::kI32, .role = Role::kMetric});
  const auto scope = p.builder.in_layer("lm_head");
  sample(p.builder,
         {.logits = p.input("logits", Shape{rows, 1, columns}, all),
          .sampling = p.input("sampling", Shape{3}, {settings.temperature, settings.top_k, settings.top_p}),
          .random = p.random(first),
          .into = next});
  p.run();
  return p.store.get("next");
}

// Logits of which tokens 0 to 3 have the probabilities 0.1, 0.4, 0.2 and 0.3 at temperature 1.
const Doubles kLogits{std::log(1), std::log(4), std::log(2), std::log(3)};

// How often each of the tokens is drawn in 20,000 rows.
Doubles frequencies(const Settings& settings) {
  constexpr std::int64_t kRows = 20'000;
  Doubles counts(kLogits.size());
  for (const double token : drawn(kLogits, kRows, settings)) counts[static_cast<std::size_t>(token)] += 1;
  for (double& count : counts) count /= static_cast<double>(kRows);
  return counts;
}

// Within four standard deviations, which are sqrt(p (1 - p) / 20,000) = 0.0035 at most.
void expect_about(const Doubles& found, const Doubles& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 4 * std::sqrt(expected[i] * (1 - expected[i]) / 20'000)) << i;
}

TEST(Sample, TurnsTheCountedNumberIntoAToken) {
  // In order: tokens 1, 3, 2, 0 up to 0.4, 0.7, 0.9 and 1. Problem::random has seed 7 and step 3.
  const RandomKey key{.seed = 7, .step = 3, .site = site_of("lm_head/sample")};
  Doubles expected;
  for (std::uint64_t row = 0; row < 30; ++row) {
    const double u = random_uniform_double(key, 11 + row);
    expected.push_back(u < 0.4 ? 1 : u < 0.7 ? 3 : u < 0.9 ? 2 : 0);
  }
  EXPECT_EQ(drawn(kLogits, 30, {}, 11), expected);
}

TEST(Sample, DoesNotDependOnTheSplitOfTheBatch) {
  const Doubles whole = drawn(kLogits, 8, {});
  Doubles parts = drawn(kLogits, 5, {}, 0);
  const Doubles rest = drawn(kLogits, 3, {}, 5);
  parts.insert(parts.end(), rest.begin(), rest.end());
  EXPECT_EQ(parts, whole);
}

TEST(Sample, FollowsTheProbabilities) {
  expect_about(frequencies({}), {0.1, 0.4, 0.2, 0.3});
}

TEST(Sample, TemperatureIsAPower) {
  // At temperature 0.5 weights are squared: 1, 16, 4, 9 of 30.
  expect_about(frequencies({.temperature = 0.5}), {1.0 / 30, 16.0 / 30, 4.0 / 30, 9.0 / 30});
}

TEST(Sample, TopKKeepsTheLikeliest) {
  expect_about(frequencies({.top_k = 2}), {0, 4.0 / 7, 0, 3.0 / 7});
}

TEST(Sample, TopPKeepsAsFewAsReachIt) {
  // 0.4 and 0.7 do not reach 0.75, 0.9 does.
  expect_about(frequencies({.top_p = 0.75}), {0, 4.0 / 9, 2.0 / 9, 3.0 / 9});
  // The first alone has 4/7 of the two that top_k leaves.
  expect_about(frequencies({.top_k = 2, .top_p = 0.55}), {0, 1, 0, 0});
}

TEST(Sample, IsGreedyAtTheEnds) {
  for (const Settings& settings :
       {Settings{.temperature = 0}, Settings{.temperature = 1e-6}, Settings{.top_k = 1}, Settings{.top_p = 0},
        Settings{.top_p = 1e-9}, Settings{.temperature = 0, .top_k = 3, .top_p = 0.9}})
    EXPECT_EQ(drawn(kLogits, 10, settings), Doubles(10, 1.0));
}

TEST(Sample, OtherStepsAndSeedsDrawOtherTokens) {
  Problem p;
  const TensorId next =
      p.builder.variable({.name = "next", .shape = Shape{50}, .dtype = DType::kI32, .role = Role::kMetric});
  sample(p.builder, {.logits = p.input("logits", Shape{50, 8}, Doubles(50 * 8, 0.0)),
                     .sampling = p.input("sampling", Shape{3}, {1, 0, 1}),
                     .random = p.random(),
                     .into = next});
  const auto tokens = [&](double seed, double step) {
    p.store.set("random", {seed, step, 0});
    p.run();
    return p.store.get("next");
  };
  const Doubles once = tokens(7, 3);
  EXPECT_NE(tokens(7, 4), once);
  EXPECT_NE(tokens(8, 3), once);
  EXPECT_EQ(tokens(7, 3), once);
}

}  // namespace
}  // namespace nadi::inline engines
