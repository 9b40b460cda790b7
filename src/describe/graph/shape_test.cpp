#include "nadi/graph/shape.h"

#include <gtest/gtest.h>

#include "nadi/base/error.h"

namespace nadi::inline describe {
namespace {

TEST(Shape, CountsElements) {
  EXPECT_EQ((Shape{4, 512, 768}.elements()), 4 * 512 * 768);
  EXPECT_EQ(Shape{}.elements(), 1);  // a scalar
  EXPECT_EQ((Shape{4, 0, 768}.elements()), 0);
}

TEST(Shape, NegativeAxesCountFromTheEnd) {
  const Shape shape{4, 512, 768};
  EXPECT_EQ(shape[-1], 768);
  EXPECT_EQ(shape[-3], 4);
}

TEST(Shape, SlicesAndAppends) {
  EXPECT_EQ((Shape{4, 512, 768}.slice(0, 2)), (Shape{4, 512}));
  EXPECT_EQ((Shape{4}.append(2)), (Shape{4, 2}));
  EXPECT_EQ((Shape{4, 512}.to_string()), "[4, 512]");
}

TEST(Shape, TooManyElementsAreAnError) {
  const Shape huge{std::int64_t{1} << 40, std::int64_t{1} << 40};
  EXPECT_THROW(huge.elements(), Error);
}

}  // namespace
}  // namespace nadi::inline describe
