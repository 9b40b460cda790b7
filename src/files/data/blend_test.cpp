#include "nadi/data/blend.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>

namespace nadi::inline files {
namespace {

using testing::ElementsAre;

TEST(Blend, TakesFromTheOneThatLagsFurthest) {
  // Lags in front of each choice, with steps 1, 1, 2, 3, 4, 5:
  //   a  0.25   0.25  -0.5   -0.25   0     -0.75
  //   b  0.75  -0.25   0.5    0.25   0      0.75
  const Blend blend = blend_samples(std::array{1.0, 3.0}, 6);
  EXPECT_THAT(blend.dataset, ElementsAre(1, 0, 1, 1, 0, 1));
  EXPECT_THAT(blend.sample, ElementsAre(0, 0, 1, 2, 1, 3));
}

TEST(Blend, SharesHoldAllTheTime) {
  const std::array weights{0.3, 0.5, 0.2};
  const Blend blend = blend_samples(weights, 1000);
  std::array<int, 3> taken{};
  for (std::size_t i = 0; i < 1000; ++i) {
    const std::size_t d = blend.dataset[i];
    EXPECT_EQ(blend.sample[i], taken[d]++);
    for (std::size_t k = 0; k < 3; ++k)
      EXPECT_NEAR(taken[k], weights[k] * static_cast<double>(i + 1), 1.5) << "after " << i;
  }
  EXPECT_LE(taken[0], blend_samples_wanted(0.3, 1000));
}

TEST(Blend, OneDatasetIsItself) {
  const Blend blend = blend_samples(std::array{2.0}, 3);
  EXPECT_THAT(blend.dataset, ElementsAre(0, 0, 0));
  EXPECT_THAT(blend.sample, ElementsAre(0, 1, 2));
}

TEST(Blend, AsksForHalfAPercentMore) {
  EXPECT_EQ(blend_samples_wanted(0.5, 1000), 503);  // 502.5
  EXPECT_EQ(blend_samples_wanted(0.001, 10), 1);    // 0.01005
}

}  // namespace
}  // namespace nadi::inline files
