#include "nadi/base/cycle_text.h"

#include <gtest/gtest.h>

namespace nadi::inline ground {
namespace {

std::string text(std::size_t length) {
  return cycle_text(
      length, [](std::size_t i) { return std::to_string(i); }, "0");
}

TEST(CycleText, EndsWhereItStarts) {
  EXPECT_EQ(text(1), "0 -> 0");
  EXPECT_EQ(text(3), "0 -> 1 -> 2 -> 0");
  EXPECT_EQ(text(9), "0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 6 -> 7 -> 8 -> 0");
}

TEST(CycleText, ALongCycleLosesItsMiddle) {
  EXPECT_EQ(text(10), "0 -> 1 -> 2 -> 3 -> 4 -> (2 more) -> 7 -> 8 -> 9 -> 0");
}

}  // namespace
}  // namespace nadi::inline ground
