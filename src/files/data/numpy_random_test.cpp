#include "nadi/data/numpy_random.h"

#include <gmock/gmock.h>

#include <numeric>
#include <vector>

namespace nadi::inline files {
namespace {

using testing::ElementsAre;

std::vector<int> shuffled(std::uint32_t seed, std::size_t count) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), 0);
  NumpyRandom(seed).shuffle(std::span(values));
  return values;
}

// numpy.random.RandomState(seed).permutation(10)
TEST(NumpyRandom, ShufflesAsNumpyDoes) {
  EXPECT_THAT(shuffled(0, 10), ElementsAre(2, 8, 4, 9, 1, 6, 7, 3, 0, 5));
  EXPECT_THAT(shuffled(42, 10), ElementsAre(8, 1, 5, 0, 7, 2, 9, 4, 3, 6));
  EXPECT_THAT(shuffled(1, 0), ElementsAre());
  EXPECT_THAT(shuffled(1, 1), ElementsAre(0));
}

TEST(NumpyRandom, IntervalsIncludeBothEnds) {
  NumpyRandom random(7);
  std::vector<int> times(3);
  for (int i = 0; i < 300; ++i) ++times.at(random.interval(2));
  for (const int count : times) EXPECT_GT(count, 50);  // 100 are expected
  EXPECT_EQ(random.interval(0), 0u);
}

// The first words of MT19937 with its reference seed are 3499211612 and 581869302: together a draw of 64
// bits.
TEST(NumpyRandom, LargeIntervalsTakeTwoWords) {
  NumpyRandom random(5489);
  EXPECT_EQ(random.interval(~std::uint64_t{0}), 3499211612ULL << 32 | 581869302ULL);
}

}  // namespace
}  // namespace nadi::inline files
