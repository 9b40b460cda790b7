#include "nadi/data/masking.h"

#include <gtest/gtest.h>

#include <cmath>

#include "nadi/data/byte_tokenizer_for_tests.h"
#include "nadi/graph/ops/cross_entropy.h"

namespace nadi::inline files {
namespace {

constexpr TokenId kClassify = 258;
constexpr TokenId kSeparate = 259;
constexpr TokenId kMask = 260;

struct Masked {
  std::vector<TokenId> ids = {};
  std::vector<std::int32_t> targets = {};
  std::int64_t chosen = 0;
  bool operator==(const Masked&) const = default;
};

Masked mask(const MaskingKey& key, std::vector<TokenId> ids) {
  static const Masking masking(ByteTokenizer::bert());
  Masked masked{.ids = std::move(ids)};
  masked.targets.resize(masked.ids.size());
  masked.chosen = masking.apply(key, masked.ids, masked.targets);
  return masked;
}

// [CLS] x ... x [SEP] with `count` tokens between them.
std::vector<TokenId> sample_of(std::size_t count, TokenId token = 'x') {
  std::vector<TokenId> ids(count + 2, token);
  ids.front() = kClassify;
  ids.back() = kSeparate;
  return ids;
}

TEST(Masking, ChoosesAndChangesAsOftenAsPublished) {
  constexpr std::size_t kTokens = 200'000;
  const std::vector<TokenId> sample = sample_of(kTokens);
  const Masked masked = mask({.seed = 1, .epoch = 0, .sample = 7}, sample);
  double masks = 0;
  double others = 0;
  double kept = 0;
  std::int64_t chosen = 0;
  for (std::size_t t = 0; t < masked.ids.size(); ++t) {
    if (masked.targets[t] == kIgnoredTarget) {
      EXPECT_EQ(masked.ids[t], sample[t]);
      continue;
    }
    ++chosen;
    EXPECT_EQ(masked.targets[t], 'x');
    EXPECT_TRUE(masked.ids[t] < 256 || masked.ids[t] == kMask);
    ++(masked.ids[t] == kMask ? masks : masked.ids[t] == 'x' ? kept : others);
  }
  EXPECT_EQ(chosen, masked.chosen);
  // Counts of n independent choices of probability p, within five standard deviations sqrt(n p (1 - p)).
  const auto expect_share = [](double count, double n, double p) {
    EXPECT_NEAR(count, n * p, 5 * std::sqrt(n * p * (1 - p)));
  };
  const auto all = static_cast<double>(chosen);
  expect_share(all, kTokens, 0.15);
  expect_share(masks, all, 0.8);
  // Some other token is 'x' again in 1 of 256 cases.
  expect_share(others, all, 0.1 * 255 / 256);
  expect_share(kept, all, 0.1 + 0.1 / 256);
}

TEST(Masking, LeavesSpecialTokensAlone) {
  for (std::int64_t sample = 0; sample < 200; ++sample) {
    const Masked masked = mask({.seed = 1, .epoch = 0, .sample = sample}, sample_of(10));
    EXPECT_EQ(masked.ids.front(), kClassify);
    EXPECT_EQ(masked.ids.back(), kSeparate);
    EXPECT_EQ(masked.targets.front(), kIgnoredTarget);
    EXPECT_EQ(masked.targets.back(), kIgnoredTarget);
  }
}

TEST(Masking, ChoosesAtLeastOneToken) {
  // Neither of two tokens is chosen in 0.85^2 = 72% of the samples; then either of them is.
  int first = 0;
  int second = 0;
  for (std::int64_t sample = 0; sample < 200; ++sample) {
    const Masked masked = mask({.seed = 1, .epoch = 0, .sample = sample}, sample_of(2));
    EXPECT_GE(masked.chosen, 1);
    first += masked.targets[1] != kIgnoredTarget ? 1 : 0;
    second += masked.targets[2] != kIgnoredTarget ? 1 : 0;
  }
  EXPECT_GT(first, 50);
  EXPECT_GT(second, 50);
}

TEST(Masking, IsAFunctionOfSeedEpochSampleAndPosition) {
  const MaskingKey key{.seed = 1, .epoch = 2, .sample = 3};
  const Masked masked = mask(key, sample_of(500));
  EXPECT_EQ(masked, mask(key, sample_of(500)));
  EXPECT_NE(masked.targets, mask({.seed = 2, .epoch = 2, .sample = 3}, sample_of(500)).targets);
  EXPECT_NE(masked.targets, mask({.seed = 1, .epoch = 3, .sample = 3}, sample_of(500)).targets);
  EXPECT_NE(masked.targets, mask({.seed = 1, .epoch = 2, .sample = 4}, sample_of(500)).targets);
  // What stands elsewhere has no influence: the places of a shorter sample are chosen the same way.
  const Masked shorter = mask(key, sample_of(400));
  for (std::size_t t = 0; t <= 400; ++t) {
    EXPECT_EQ(masked.ids[t], shorter.ids[t]);
    EXPECT_EQ(masked.targets[t], shorter.targets[t]);
  }
}

}  // namespace
}  // namespace nadi::inline files
