#include "nadi/recording/layer_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nadi::inline traces {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(LayerRanges, OpenAndCloseWhatDiffers) {
  LayerRanges ranges;
  RangeChange change = ranges.enter("forward", "model.h.0.attn");
  EXPECT_EQ(change.closed, 0u);
  EXPECT_THAT(change.opened, ElementsAre("forward", "model", "model.h.0", "model.h.0.attn"));
  change = ranges.enter("forward", "model.h.0.attn");
  EXPECT_EQ(change.closed, 0u);
  EXPECT_THAT(change.opened, IsEmpty());
  change = ranges.enter("forward", "model.h.1");
  EXPECT_EQ(change.closed, 2u);
  EXPECT_THAT(change.opened, ElementsAre("model.h.1"));
  change = ranges.enter("backward", "model.h.1");
  EXPECT_EQ(change.closed, 3u);
  EXPECT_THAT(change.opened, ElementsAre("backward", "model", "model.h.1"));
  change = ranges.enter("optimizer", "");
  EXPECT_EQ(change.closed, 3u);
  EXPECT_THAT(change.opened, ElementsAre("optimizer"));
  EXPECT_EQ(ranges.open(), 1u);
  ranges.clear();
  EXPECT_EQ(ranges.open(), 0u);
}

}  // namespace
}  // namespace nadi::inline traces
