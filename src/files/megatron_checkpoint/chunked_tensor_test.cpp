#include "nadi/megatron_checkpoint/chunked_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <numeric>

namespace nadi::inline files {
namespace {

using testing::HasSubstr;

// A tensor of numbers that count its elements, and copies of its boxes.
class Counted {
 public:
  explicit Counted(const Shape& shape) : tensor(shape, sizeof(std::int32_t)), shape_(shape) {}

  void add(const TensorBox& box) {
    std::vector<std::int32_t> elements;
    const std::int64_t count = box.sizes.elements();
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t rest = i, index = 0, below = 1;
      for (int axis = shape_.rank() - 1; axis >= 0; --axis) {
        index += (box.offsets[axis] + rest % box.sizes[axis]) * below;
        rest /= box.sizes[axis];
        below *= shape_[axis];
      }
      elements.push_back(static_cast<std::int32_t>(index));
    }
    chunks_.push_back(std::move(elements));
    tensor.add(box, std::as_bytes(std::span(chunks_.back())));
  }

  // The flat range of a part, whose elements are taken one by one.
  void add_range(const ChunkedTensor::FlatRange& range) {
    std::vector<std::int32_t> elements;
    for (std::int64_t i = range.first; i < range.first + range.count; ++i) {
      std::int64_t rest = i, index = 0, below = 1;
      for (int axis = shape_.rank() - 1; axis >= 0; --axis) {
        index += (range.offsets[axis] + rest % range.local[axis]) * below;
        rest /= range.local[axis];
        below *= shape_[axis];
      }
      elements.push_back(static_cast<std::int32_t>(index));
    }
    chunks_.push_back(std::move(elements));
    tensor.add_flattened(range, std::as_bytes(std::span(chunks_.back())));
  }

  void expect_all_readable() {
    tensor.settle("w", "f");
    const std::int64_t all = shape_.elements();
    for (std::int64_t first = 0; first < all; ++first)
      for (const std::int64_t count : {std::int64_t{1}, (all - first) / 2, all - first}) {
        if (count == 0) continue;
        std::vector<std::int32_t> got(static_cast<std::size_t>(count)), wanted(got.size());
        std::iota(wanted.begin(), wanted.end(), static_cast<std::int32_t>(first));
        tensor.read(first, count, std::as_writable_bytes(std::span(got)));
        ASSERT_EQ(got, wanted) << first << " " << count;
        if (const auto view = tensor.view(first, count)) {
          ASSERT_EQ(view->size(), got.size() * sizeof(std::int32_t));
          ASSERT_EQ(std::memcmp(view->data(), wanted.data(), view->size()), 0);
        }
      }
  }

  std::string message() {
    try {
      tensor.settle("w", "f");
    } catch (const Error& error) {
      return error.place().file + ": " + error.message();
    }
    return "no error";
  }

  ChunkedTensor tensor;

 private:
  Shape shape_;
  std::deque<std::vector<std::int32_t>> chunks_;
};

TEST(ChunkedTensor, ChunksOfAnySplitAreOneTensor) {
  for (const std::int64_t layers : {1, 3}) {
    for (const std::int64_t row_parts : {1, 2, 4}) {
      for (const std::int64_t column_parts : {1, 3}) {
        Counted counted(Shape{3, 8, 6});
        for (std::int64_t l = 0; l < 3; l += layers)
          for (std::int64_t r = 0; r < row_parts; ++r)
            for (std::int64_t c = 0; c < column_parts; ++c)
              counted.add({.offsets = {l, r * 8 / row_parts, c * 6 / column_parts},
                           .sizes = {layers, 8 / row_parts, 6 / column_parts}});
        counted.expect_all_readable();
      }
    }
  }
  Counted scalar(Shape{});
  scalar.add({});
  scalar.expect_all_readable();
  Counted vector(Shape{7});
  vector.add({.offsets = {4}, .sizes = {3}});
  vector.add({.offsets = {0}, .sizes = {4}});
  vector.expect_all_readable();
}

TEST(ChunkedTensor, WholeRowsAreViews) {
  Counted counted(Shape{4, 6});
  counted.add({.offsets = {0, 0}, .sizes = {2, 6}});
  counted.add({.offsets = {2, 0}, .sizes = {2, 3}});
  counted.add({.offsets = {2, 3}, .sizes = {2, 3}});
  counted.tensor.settle("w", "f");
  EXPECT_TRUE(counted.tensor.view(0, 12));
  EXPECT_FALSE(counted.tensor.view(0, 13));
  EXPECT_TRUE(counted.tensor.view(15, 3));
  EXPECT_FALSE(counted.tensor.view(14, 2));
}

// A brick wall, which no row and no column of joints goes through.
TEST(ChunkedTensor, BordersNeedNotMeet) {
  Counted wall(Shape{3, 3});
  wall.add({.offsets = {0, 0}, .sizes = {1, 2}});
  wall.add({.offsets = {0, 2}, .sizes = {2, 1}});
  wall.add({.offsets = {1, 0}, .sizes = {2, 1}});
  wall.add({.offsets = {2, 1}, .sizes = {1, 2}});
  wall.add({.offsets = {1, 1}, .sizes = {1, 1}});
  wall.expect_all_readable();
}

// Three data-parallel ranks, each with a range of the part of each of 2 x 2 model-parallel ranks.
TEST(ChunkedTensor, FlatRangesBeginAndEndWithinRows) {
  Counted counted(Shape{2, 4, 10});
  for (std::int64_t layer = 0; layer < 2; ++layer)
    for (std::int64_t row = 0; row < 4; row += 2)
      for (std::int64_t column = 0; column < 10; column += 5)
        for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{0, 3}, {3, 4}, {7, 3}})
          counted.add_range(
              {.offsets = {layer, row, column}, .local = {1, 2, 5}, .first = first, .count = count});
  counted.expect_all_readable();
}

TEST(ChunkedTensor, OverlapsAndGapsAreNamed) {
  Counted twice(Shape{4, 6});
  twice.add({.offsets = {0, 0}, .sizes = {4, 4}});
  twice.add({.offsets = {0, 4}, .sizes = {2, 2}});
  twice.add({.offsets = {2, 3}, .sizes = {2, 3}});
  EXPECT_THAT(twice.message(),
              HasSubstr("f: 'w' [4, 6]: two chunks have the elements at row 2, columns 3 to 5"));
  Counted gap(Shape{4, 6});
  gap.add({.offsets = {0, 0}, .sizes = {4, 4}});
  gap.add({.offsets = {0, 4}, .sizes = {3, 2}});
  EXPECT_THAT(gap.message(), HasSubstr("no chunk has the element at row 3, column 4"));
  Counted late(Shape{4, 6});
  late.add({.offsets = {1, 0}, .sizes = {3, 6}});
  EXPECT_THAT(late.message(), HasSubstr("no chunk has rows 0 to 0, columns 0 to 5"));
  Counted early(Shape{4, 6});
  early.add({.offsets = {0, 0}, .sizes = {3, 6}});
  EXPECT_THAT(early.message(), HasSubstr("no chunk has the element at row 3, column 0"));
  Counted none(Shape{4, 6});
  EXPECT_THAT(none.message(), HasSubstr("it has no chunks"));
}

}  // namespace
}  // namespace nadi::inline files
