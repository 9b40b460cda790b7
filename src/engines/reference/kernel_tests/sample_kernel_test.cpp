#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <ostream>

#include "nadi/graph/ops.h"
#include "nadi/reference/kernel_tests/kernel_check_for_tests.h"
#include "nadi/reference/kernel_tests/run_kernels_for_tests.h"

namespace nadi::inline engines {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct SampleCase {
  std::int64_t rows, columns, vocabulary;
  double temperature, top_k, top_p;
  DType dtype = DType::kF32;
  double spread = 1;  // standard deviation of the logits
};

void PrintTo(const SampleCase& c, std::ostream* out) {
  *out << c.rows << " x " << c.vocabulary << " of " << c.columns << ", temperature " << c.temperature
       << ", top_k " << c.top_k << ", top_p " << c.top_p << ", " << to_string(c.dtype) << ", spread "
       << c.spread;
}

// A problem whose op writes "next", its output. 16-bit logits have many that are equal.
void add_sample(Problem& p, const SampleCase& c, Doubles logits) {
  TensorId x = p.input("logits", Shape{c.rows, c.columns}, std::move(logits));
  if (c.dtype != DType::kF32) x = cast(p.builder, x, c.dtype);
  const TensorId next = p.builder.variable(
      {.name = "next", .shape = Shape{c.rows}, .dtype = DType::kI32, .role = Role::kMetric});
  sample(p.builder, {.logits = x,
                     .sampling = p.input("sampling", Shape{3}, {c.temperature, c.top_k, c.top_p}),
                     .random = p.random(5),
                     .vocabulary = c.vocabulary,
                     .into = next});
  p.output(next);
}

class Sample : public testing::TestWithParam<SampleCase> {};

// Token for token; the padded columns have the largest logits of all.
TEST_P(Sample, DrawsTheTokensOfTheReference) {
  const SampleCase& c = GetParam();
  Doubles logits = normal_values("logits", c.rows * c.columns);
  for (std::int64_t i = 0; i < c.rows * c.columns; ++i) {
    // The reference engine does not round values, so 16-bit logits are numbers that 16 bits hold.
    const double own = c.dtype == DType::kF32 ? logits[i] * c.spread : std::round(logits[i] * 16) / 16;
    logits[i] = i % c.columns < c.vocabulary ? own : 1000;
  }
  Problem p;
  add_sample(p, c, std::move(logits));
  expect_same_as_reference(p);
}

INSTANTIATE_TEST_SUITE_P(
    All, Sample,
    testing::Values(SampleCase{300, 17, 13, 1, 0, 1},                         // a block that is not full
                    SampleCase{300, 1000, 1000, 1, 0, 1},                     // all tokens
                    SampleCase{300, 1000, 1000, 0.7, 40, 0.95},               // the usual cuts
                    SampleCase{100, 1000, 990, 1.3, 500, 1},                  // more than there are blocks
                    SampleCase{100, 1000, 990, 1, 1000, 0.5},                 // top_k beyond the vocabulary
                    SampleCase{100, 1000, 1000, 1, 0, 0.9},                   // top_p alone
                    SampleCase{50, 1000, 1000, 0, 0, 1},                      // greedy
                    SampleCase{50, 1000, 1000, 1, 1, 1},                      // greedy
                    SampleCase{50, 1000, 1000, 1, 0, 0},                      // greedy
                    SampleCase{100, 1000, 1000, 50, 0, 0.99},                 // nearly flat: few buckets
                    SampleCase{100, 1000, 1000, 0.01, 0, 1, DType::kF32, 9},  // weights down to nothing
                    SampleCase{200, 2000, 2000, 1, 100, 0.9, DType::kBF16},
                    SampleCase{200, 2000, 2000, 1, 0, 0.9, DType::kF16}, SampleCase{4, 50257, 50257, 1, 0, 1},
                    SampleCase{4, 50257, 50257, 0.8, 50, 0.95},
                    SampleCase{2, 128256, 128000, 1, 0, 0.95, DType::kBF16}));

// The tokens, which must be the reference's with any number of threads.
Doubles chosen(const SampleCase& c, const Doubles& logits) {
  Problem p;
  add_sample(p, c, logits);
  const Doubles expected = p.run().at(0);
  for (const int threads : {1, 2}) {
    const std::vector<std::byte> bytes = run_kernels(p, threads).at(0);
    std::vector<std::int32_t> tokens(expected.size());
    std::memcpy(tokens.data(), bytes.data(), bytes.size());
    EXPECT_EQ(Doubles(tokens.begin(), tokens.end()), expected) << threads << " threads";
  }
  return expected;
}

TEST(Sample, TakesTheFirstOfEqualOnes) {
  // Among 700 equal logits, top_k 2 leaves tokens 0 and 1; greedy choices take token 0.
  const Doubles equal(2 * 700, 0.5);
  EXPECT_EQ(chosen({2, 700, 700, 0, 0, 1}, equal), (Doubles{0, 0}));
  EXPECT_EQ(chosen({2, 700, 700, 1, 1, 1}, equal), (Doubles{0, 0}));
  EXPECT_EQ(chosen({2, 700, 700, 1, 0, 1e-9}, equal), (Doubles{0, 0}));
  for (const double token : chosen({20, 70, 70, 1, 2, 1}, Doubles(20 * 70, -3.0))) EXPECT_LE(token, 1);
  // 0.25 of 8 equal ones is reached by the second of them.
  for (const double token : chosen({20, 8, 8, 1, 0, 0.25}, Doubles(20 * 8, 2.0))) EXPECT_LE(token, 1);
}

TEST(Sample, NeverDrawsMinusInfinity) {
  Doubles logits(40 * 100, -kInfinity);
  for (int row = 0; row < 40; ++row) logits[row * 100 + 7] = logits[row * 100 + 93] = -5;
  std::array<int, 100> seen{};
  for (const double token : chosen({40, 100, 100, 1, 0, 1}, logits)) ++seen[static_cast<std::size_t>(token)];
  EXPECT_EQ(seen[7] + seen[93], 40);
  EXPECT_GT(seen[7], 0);
  EXPECT_GT(seen[93], 0);
  // Fewer than top_k are left.
  for (const double token : chosen({40, 100, 100, 1, 50, 0.99}, logits))
    EXPECT_TRUE(token == 7 || token == 93);
}

TEST(Sample, TakesTheFirstLargestWhereThatIsNotFinite) {
  Doubles logits(2 * 100, -kInfinity);
  logits[100 + 5] = 1;
  logits[100 + 40] = logits[100 + 70] = kInfinity;
  EXPECT_EQ(chosen({2, 100, 100, 1, 0, 1}, logits), (Doubles{0, 40}));
  const Doubles none(100, std::nan(""));
  EXPECT_EQ(chosen({1, 100, 100, 1, 0, 1}, none), (Doubles{0}));
}

}  // namespace
}  // namespace nadi::inline engines
