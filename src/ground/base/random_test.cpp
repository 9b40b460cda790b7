#include "nadi/base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace nadi::inline ground {
namespace {

constexpr RandomKey kKey{.seed = 1, .step = 7, .site = site_of("transformer.h.3.attn")};

struct Moments {
  double mean = 0;
  double variance = 0;
};

Moments moments_of(const std::vector<float>& values) {
  const double count = static_cast<double>(values.size());
  Moments moments;
  for (const float value : values) moments.mean += value / count;
  for (const float value : values)
    moments.variance += (value - moments.mean) * (value - moments.mean) / count;
  return moments;
}

double correlation_of(const std::vector<float>& a, const std::vector<float>& b) {
  const Moments of_a = moments_of(a);
  const Moments of_b = moments_of(b);
  double covariance = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    covariance += (a[i] - of_a.mean) * (b[i] - of_b.mean) / static_cast<double>(a.size());
  return covariance / std::sqrt(of_a.variance * of_b.variance);
}

std::vector<float> normals(const RandomKey& key, std::size_t count) {
  std::vector<float> values(count);
  fill_normal(key, 0, values);
  return values;
}

// The known answers published with the authors' Random123 library (kat_vectors): zeros, ones, digits of pi.
TEST(Random, PhiloxGivesThePublishedAnswers) {
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}),
            (RandomBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32_10({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (RandomBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (RandomBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// From the definition of FNV-1a: the offset basis, and published values for "a" and "foobar".
TEST(Random, SiteIsFnv1a) {
  EXPECT_EQ(site_of(""), 0xcbf29ce484222325U);
  EXPECT_EQ(site_of("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(site_of("foobar"), 0x85944171f73967e8U);
}

// The header's mapping, written out: SplitMix64's first output for seed 0 is 0xe220a8397b1dcdaf.
TEST(Random, KeyAndCounterAreMappedAsDocumented) {
  const RandomKey key{.seed = 0, .step = 0x0000000500000006, .site = 0x0000000100000002};
  EXPECT_EQ(random_block(key, 0x0000000300000004),
            philox4x32_10({4, 3, 6, 5}, {0x7b1dcdaf ^ 2, 0xe220a839 ^ 1}));
}

TEST(Random, EveryPartOfTheKeyAndEveryBitOfTheIndexCounts) {
  std::set<RandomBlock> seen{random_block(kKey, 0)};
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t flip = std::uint64_t{1} << bit;
    seen.insert(random_block({kKey.seed ^ flip, kKey.step, kKey.site}, 0));
    seen.insert(random_block({kKey.seed, kKey.step ^ flip, kKey.site}, 0));
    seen.insert(random_block({kKey.seed, kKey.step, kKey.site ^ flip}, 0));
    seen.insert(random_block(kKey, flip));
  }
  EXPECT_EQ(seen.size(), 1U + 4 * 64);
}

TEST(Random, EveryWordOfABlockIsUsedOnce) {
  const RandomBlock block = random_block(kKey, 25);
  for (std::uint64_t lane = 0; lane < 4; ++lane) EXPECT_EQ(random_word(kKey, 100 + lane), block[lane]);
}

TEST(Random, UniformsStayBelowOne) {
  EXPECT_EQ(uniform_of_word(0), 0.0F);
  EXPECT_EQ(uniform_of_word(0xffffffff), 1.0F - 0x1p-24F);
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const double value = random_uniform_double(kKey, i);
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
  }
  // The high half of element 1 is word 2 of block 0.
  EXPECT_NEAR(random_uniform_double(kKey, 1), random_block(kKey, 0)[2] * 0x1p-32, 0x1p-32);
}

// n = 400,000 uniforms: mean 1/2, standard error sqrt(1/12 / n) = 0.00046; variance 1/12, standard error
// sqrt((1/80 - 1/144) / n) = 0.00012. Five standard errors are allowed.
TEST(Random, UniformsHaveTheRightMoments) {
  std::vector<float> values;
  for (std::uint64_t i = 0; i < 400'000; ++i) values.push_back(random_uniform(kKey, i));
  const Moments moments = moments_of(values);
  EXPECT_NEAR(moments.mean, 0.5, 5 * 0.00046);
  EXPECT_NEAR(moments.variance, 1.0 / 12, 5 * 0.00012);
}

// n = 400,000 normals: standard errors sqrt(1/n) = 0.0016 of the mean, sqrt(2/n) = 0.0022 of the variance.
// P(|z| < 1) = 0.6827, standard error sqrt(0.6827 * 0.3173 / n) = 0.00074.
TEST(Random, NormalsHaveTheRightMoments) {
  const std::vector<float> values = normals(kKey, 400'000);
  const Moments moments = moments_of(values);
  EXPECT_NEAR(moments.mean, 0.0, 5 * 0.0016);
  EXPECT_NEAR(moments.variance, 1.0, 5 * 0.0022);
  double inside = 0;
  for (const float value : values) inside += std::abs(value) < 1 ? 1.0 / 400'000 : 0.0;
  EXPECT_NEAR(inside, 0.6827, 5 * 0.00074);
}

// Correlation of n = 100,000 independent pairs: standard error sqrt(1/n) = 0.0032.
TEST(Random, SitesStepsSeedsAndNeighboursAreIndependent) {
  constexpr std::size_t kCount = 100'000;
  const std::vector<float> here = normals(kKey, kCount);
  EXPECT_NEAR(correlation_of(here, normals({1, 7, site_of("transformer.h.4.attn")}, kCount)), 0, 5 * 0.0032);
  EXPECT_NEAR(correlation_of(here, normals({1, 7, kKey.site ^ 1}, kCount)), 0, 5 * 0.0032);
  EXPECT_NEAR(correlation_of(here, normals({1, 8, kKey.site}, kCount)), 0, 5 * 0.0032);
  EXPECT_NEAR(correlation_of(here, normals({2, 7, kKey.site}, kCount)), 0, 5 * 0.0032);
  std::vector<float> even, odd;
  for (std::size_t i = 0; i < kCount; i += 2) {
    even.push_back(here[i]);
    odd.push_back(here[i + 1]);
  }
  EXPECT_NEAR(correlation_of(even, odd), 0, 5 * 0.0045);  // sqrt(1 / 50,000)
}

TEST(Random, AnySplitGivesTheSameNumbers) {
  // Around 2^34, where a 32-bit index would have wrapped.
  const std::uint64_t first = (std::uint64_t{1} << 34) - 5;
  std::vector<float> whole_normal(23);
  fill_normal(kKey, first, whole_normal);
  for (std::size_t split = 0; split <= 23; ++split) {
    std::vector<float> parts(23);
    fill_normal(kKey, first, std::span(parts).first(split));
    fill_normal(kKey, first + split, std::span(parts).subspan(split));
    EXPECT_EQ(parts, whole_normal) << "split at " << split;
  }
  for (std::size_t i = 0; i < 23; ++i) EXPECT_EQ(random_normal(kKey, first + i), whole_normal[i]);
}

TEST(Random, NormalsAreBoxMullerOfTheDocumentedWords) {
  const RandomBlock words = random_block(kKey, 0);
  const double radius = std::sqrt(-2 * std::log((words[2] + 1.0) / 4294967296.0));
  const double angle = 2 * 3.14159265358979323846 * (words[3] / 4294967296.0);
  EXPECT_FLOAT_EQ(random_normal(kKey, 2), static_cast<float>(radius * std::cos(angle)));
  EXPECT_FLOAT_EQ(random_normal(kKey, 3), static_cast<float>(radius * std::sin(angle)));
}

}  // namespace
}  // namespace nadi::inline ground
