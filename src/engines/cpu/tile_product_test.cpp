#include "nadi/cpu/tile_product.h"

#include <gtest/gtest.h>

#include <vector>

namespace nadi::inline engines::cpu {
namespace {

// Small whole numbers: products and sums are exact, whatever their order.
float entry(std::int64_t i, std::int64_t j) {
  return static_cast<float>((3 * i + 5 * j) % 7 - 3);
}

struct alignas(64) Tile {
  static constexpr std::int64_t kRows = 40;
  static constexpr std::int64_t kStride = 48;
  float data[kRows * kStride] = {};

  float& at(std::int64_t i, std::int64_t j) { return data[i * kStride + j]; }
  void fill() {
    for (std::int64_t i = 0; i < kRows; ++i)
      for (std::int64_t j = 0; j < kStride; ++j) at(i, j) = entry(i, j);
  }
};

TEST(TileStride, IsAnOddNumberOfCacheLines) {
  EXPECT_EQ(tile_stride(1), 16);
  EXPECT_EQ(tile_stride(17), 48);
  EXPECT_EQ(tile_stride(64), 80);
  EXPECT_EQ(tile_stride(80), 80);
}

// Every number of rows of the last panel, panels with extents of their own, `a` either way round.
TEST(TileProduct, EqualsThreeLoops) {
  Tile a, b;
  a.fill();
  b.fill();
  for (std::int64_t rows = 1; rows <= 20; ++rows)
    for (const bool transposed : {false, true})
      for (const bool add : {false, true}) {
        std::vector<PanelExtent> panels;
        for (std::int64_t first = 0; first < rows; first += kPanelRows)
          panels.push_back({.columns = first == 6 ? 5 : 32, .first = first / 6, .end = 30 - first});
        Tile c;
        c.fill();
        multiply({.c = c.data,
                  .c_stride = Tile::kStride,
                  .a = a.data,
                  .a_row = transposed ? 1 : Tile::kStride,
                  .a_column = transposed ? Tile::kStride : 1,
                  .b = b.data,
                  .b_stride = Tile::kStride,
                  .add = add},
                 rows, panels);
        for (std::int64_t i = 0; i < Tile::kRows; ++i)
          for (std::int64_t j = 0; j < Tile::kStride; ++j) {
            float expected = entry(i, j);
            const bool computed = i < rows && j < padded_width(panels[i / kPanelRows].columns);
            if (computed) {
              if (!add) expected = 0;
              for (std::int64_t k = panels[i / kPanelRows].first; k < panels[i / kPanelRows].end; ++k)
                expected += (transposed ? entry(k, i) : entry(i, k)) * entry(k, j);
            }
            ASSERT_EQ(c.at(i, j), expected) << rows << " rows: " << i << ", " << j;
          }
      }
}

TEST(Transpose, SwapsRowsAndColumnsAndPadsWithZeros) {
  for (const std::int64_t rows : {1, 7, 8, 17, 32})
    for (const std::int64_t columns : {1, 8, 13, 32}) {
      Tile source, target;
      source.fill();
      target.fill();
      transpose({.source = source.data,
                 .source_stride = Tile::kStride,
                 .target = target.data,
                 .target_stride = Tile::kStride},
                rows, columns);
      for (std::int64_t j = 0; j < columns; ++j)
        for (std::int64_t i = 0; i < padded_width(rows); ++i)
          ASSERT_EQ(target.at(j, i), i < rows ? entry(i, j) : 0) << rows << "x" << columns;
    }
}

}  // namespace
}  // namespace nadi::inline engines::cpu
