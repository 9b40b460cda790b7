#include "nadi/graph/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nadi::inline describe {
namespace {

using testing::ElementsAre;

PlaceInGroup at(std::int64_t tp, std::int64_t cp = 0) {
  return [=](const std::string& group) { return group == "tp" ? tp : cp; };
}

TEST(Shard, SplitsAnAxis) {
  const std::vector<Shard> columns{{.group = "tp", .parts = 2, .axis = 1}};
  EXPECT_EQ(whole_shape({2, 2}, columns), (Shape{2, 4}));
  // Rows of 4; rank 1 has columns 2 and 3.
  EXPECT_THAT(whole_indices({2, 2}, columns, at(1)), ElementsAre(2, 3, 6, 7));
}

TEST(Shard, SplitsEachSegment) {
  // Four queries, two keys, two values over two ranks: rank 1 has queries 2, 3, key 1, value 1.
  const std::vector<Shard> packed{{.group = "tp", .parts = 2, .axis = 0, .segments = {4, 2, 2}}};
  EXPECT_THAT(whole_indices({4}, packed, at(1)), ElementsAre(2, 3, 5, 7));
}

TEST(Shard, ZigzagDealsTheSecondHalfInReverse) {
  const std::vector<Shard> zigzag{zigzag_shard("cp", 2, 0, 8)};
  EXPECT_THAT(whole_indices({4}, zigzag, at(0, 0)), ElementsAre(0, 1, 6, 7));
  EXPECT_THAT(whole_indices({4}, zigzag, at(0, 1)), ElementsAre(2, 3, 4, 5));
}

TEST(Shard, TheSecondSplitsWhatTheFirstLeft) {
  const std::vector<Shard> both{zigzag_shard("cp", 2, 0, 8), {.group = "tp", .parts = 2, .axis = 0}};
  EXPECT_THAT(whole_indices({2}, both, at(0, 0)), ElementsAre(0, 1));
  EXPECT_THAT(whole_indices({2}, both, at(1, 0)), ElementsAre(6, 7));
  EXPECT_THAT(whole_indices({2}, both, at(1, 1)), ElementsAre(4, 5));
}

TEST(Shard, OfDifferentAxesMultiply) {
  const std::vector<Shard> both{{.group = "cp", .parts = 2, .axis = 0},
                                {.group = "tp", .parts = 2, .axis = 1}};
  EXPECT_THAT(whole_indices({1, 2}, both, at(1, 1)), ElementsAre(6, 7));
}

}  // namespace
}  // namespace nadi::inline describe
