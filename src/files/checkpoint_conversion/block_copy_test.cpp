#include "nadi/checkpoint_conversion/block_copy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "nadi/checkpoint_conversion/memory_model_for_tests.h"

namespace nadi::inline files {
namespace {

std::vector<float> floats_of(std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(BlockCopy, TransposeAgreesWithThePlainVersion) {
  for (const std::int64_t size : {1, 2, 4, 8})
    for (const std::int64_t rows : {1, 3, 64, 65, 200})
      for (const std::int64_t columns : {1, 2, 63, 64, 130}) {
        std::vector<std::byte> in(static_cast<std::size_t>(rows * columns * size));
        for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::byte>(i * 7 + i / 256);
        std::vector<std::byte> out(in.size()), expected(in.size());
        transpose(in, rows, columns, size, out);
        transpose_reference(in, rows, columns, size, expected);
        EXPECT_EQ(out, expected) << rows << " x " << columns << " of " << size;
      }
}

// The tensor is
//    0  1  2  3
//    4  5  6  7
//    8  9 10 11
TEST(BlockCopy, Rectangles) {
  for (const bool views : {true, false}) {
    MemoryModel model;
    model.views = views;
    model.add("w", FileDType::kF32, {3, 4});
    const WholeTensor& w = model.at("w");
    BlockCopy copy(model);
    const auto values = [&](const ShardBlock& block) {
      return floats_of(copy.bytes(w, block, FileDType::kF32));
    };
    EXPECT_EQ(values({.block = {.row = 1, .rows = 2, .column = 0, .columns = 4}}),
              (std::vector<float>{4, 5, 6, 7, 8, 9, 10, 11}));
    EXPECT_EQ(values({.block = {.row = 0, .rows = 3, .column = 1, .columns = 2}}),
              (std::vector<float>{1, 2, 5, 6, 9, 10}));
    EXPECT_EQ(values({.block = {.row = 0, .rows = 3, .column = 1, .columns = 2}, .transposed = true}),
              (std::vector<float>{1, 5, 9, 2, 6, 10}));
    EXPECT_EQ(values({.block = {.row = 2, .rows = 1, .column = 0, .columns = 4}, .padding = 2}),
              (std::vector<float>{8, 9, 10, 11, 8, 9, 10, 11}));
  }
}

// 257 has nine bits and becomes 256 in bf16, which has eight.
TEST(BlockCopy, Converts) {
  MemoryModel model;
  model.add("w", FileDType::kF32, {258});
  BlockCopy copy(model);
  const auto bytes =
      copy.bytes(model.at("w"), {.block = {.row = 256, .rows = 2, .columns = 1}}, FileDType::kBF16);
  ASSERT_EQ(bytes.size(), 4u);
  std::vector<std::uint16_t> halves(2);
  std::memcpy(halves.data(), bytes.data(), 4);
  EXPECT_EQ(from_bf16(halves[0]), 256.0F);
  EXPECT_EQ(from_bf16(halves[1]), 256.0F);
  EXPECT_TRUE(can_convert(FileDType::kF64, FileDType::kF16));
  EXPECT_FALSE(can_convert(FileDType::kI64, FileDType::kF32));
  EXPECT_FALSE(can_convert(FileDType::kF32, FileDType::kI64));
}

// Whatever the limit, the parts one after another are the block.
TEST(BlockCopy, PartsAreTheBlock) {
  MemoryModel model;
  model.add("w", FileDType::kF32, {5, 6});
  const WholeTensor& w = model.at("w");
  const std::vector<ShardBlock> blocks{
      {.block = {.row = 1, .rows = 3, .column = 1, .columns = 4}},
      {.block = {.row = 1, .rows = 3, .column = 1, .columns = 4}, .transposed = true},
      {.block = {.row = 4, .rows = 1, .column = 0, .columns = 6}, .padding = 3}};
  for (const ShardBlock& block : blocks) {
    BlockCopy copy(model);
    const std::vector<float> whole = floats_of(copy.bytes(w, block, FileDType::kF32));
    for (std::int64_t limit = 1; limit <= block.elements() + 1; ++limit) {
      std::vector<float> joined;
      for (const ShardBlock& part : parts_of(block, limit)) {
        EXPECT_LE(part.elements(), block.padding == 0 ? limit : std::max<std::int64_t>(limit, 6));
        const std::vector<float> values = floats_of(copy.bytes(w, part, FileDType::kF32));
        joined.insert(joined.end(), values.begin(), values.end());
      }
      EXPECT_EQ(joined, whole) << limit;
    }
  }
}

}  // namespace
}  // namespace nadi::inline files
