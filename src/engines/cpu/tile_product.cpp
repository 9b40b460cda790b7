// The vectors are GCC's own type for 8 floats: multiply-adds and broadcasts come out as the machine has them,
// and any machine has some. With AVX2 the loop over k below is 2 loads, 6 broadcasts and 12 multiply-adds.
#include "nadi/cpu/tile_product.h"

#include <algorithm>

namespace nadi::inline engines::cpu {
namespace {

constexpr int kLanes = 8;
using Vector = float __attribute__((vector_size(kLanes * sizeof(float))));
// In memory, on any boundary.
using StoredVector =
    float __attribute__((vector_size(kLanes * sizeof(float)), aligned(alignof(float)), may_alias));

StoredVector* vectors(float* at) {
  return reinterpret_cast<StoredVector*>(at);
}
const StoredVector* vectors(const float* at) {
  return reinterpret_cast<const StoredVector*>(at);
}

// `Rows` rows and 16 columns of c; the product's pointers are those of the panel's corner.
template <int Rows>
void multiply_panel(const TileProduct& p, std::int64_t depth) {
  Vector sums[Rows][2];
  for (int i = 0; i < Rows; ++i)
    for (int j = 0; j < 2; ++j) sums[i][j] = p.add ? vectors(p.c + i * p.c_stride)[j] : Vector{};
  const float* a = p.a;
  const float* b = p.b;
  const std::int64_t a_row = p.a_row, a_column = p.a_column, b_stride = p.b_stride;
  for (std::int64_t k = 0; k < depth; ++k) {
    const Vector b0 = vectors(b)[0], b1 = vectors(b)[1];
    for (int i = 0; i < Rows; ++i) {
      const float factor = a[i * a_row];
      sums[i][0] += factor * b0;
      sums[i][1] += factor * b1;
    }
    a += a_column;
    b += b_stride;
  }
  for (int i = 0; i < Rows; ++i)
    for (int j = 0; j < 2; ++j) vectors(p.c + i * p.c_stride)[j] = sums[i][j];
}

void multiply_panel(const TileProduct& product, std::int64_t rows, std::int64_t depth) {
  static_assert(kPanelRows == 6);
  switch (rows) {
    case 1:
      return multiply_panel<1>(product, depth);
    case 2:
      return multiply_panel<2>(product, depth);
    case 3:
      return multiply_panel<3>(product, depth);
    case 4:
      return multiply_panel<4>(product, depth);
    case 5:
      return multiply_panel<5>(product, depth);
    default:
      return multiply_panel<kPanelRows>(product, depth);
  }
}

// Transposes 8 rows of 8: pairs of rows are interleaved by ones, then by twos, then by fours.
void transpose_8x8(const float* source, std::int64_t source_stride, float* target,
                   std::int64_t target_stride) {
  Vector x[kLanes], y[kLanes];
  for (int i = 0; i < kLanes; ++i) x[i] = *vectors(source + i * source_stride);
  for (int i = 0; i < kLanes; i += 2) {
    y[i] = __builtin_shufflevector(x[i], x[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    y[i + 1] = __builtin_shufflevector(x[i], x[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int i = 0; i < kLanes; i += 4) {
    for (int j = 0; j < 2; ++j) {
      x[i + 2 * j] = __builtin_shufflevector(y[i + j], y[i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      x[i + 2 * j + 1] = __builtin_shufflevector(y[i + j], y[i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  for (int i = 0; i < 4; ++i) {
    *vectors(target + i * target_stride) = __builtin_shufflevector(x[i], x[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    *vectors(target + (i + 4) * target_stride) =
        __builtin_shufflevector(x[i], x[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

}  // namespace

void multiply(const TileProduct& product, std::int64_t rows, std::span<const PanelExtent> panels) {
  std::int64_t widest = 0;
  for (const PanelExtent& panel : panels) widest = std::max(widest, panel.columns);
  // Columns of c outermost: the 16 columns of b that they need stay in the first-level cache.
  for (std::int64_t column = 0; column < widest; column += kPanelColumns) {
    for (std::size_t panel = 0; panel < panels.size(); ++panel) {
      const PanelExtent& extent = panels[panel];
      if (column >= extent.columns) continue;
      const std::int64_t row = static_cast<std::int64_t>(panel) * kPanelRows;
      TileProduct part = product;
      part.c += row * product.c_stride + column;
      part.a += row * product.a_row + extent.first * product.a_column;
      part.b += extent.first * product.b_stride + column;
      multiply_panel(part, std::min<std::int64_t>(kPanelRows, rows - row), extent.end - extent.first);
    }
  }
}

void transpose(const Transposition& tiles, std::int64_t rows, std::int64_t columns) {
  const std::int64_t whole_rows = rows / kLanes * kLanes, whole_columns = columns / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole_rows; i += kLanes)
    for (std::int64_t j = 0; j < whole_columns; j += kLanes)
      transpose_8x8(tiles.source + i * tiles.source_stride + j, tiles.source_stride,
                    tiles.target + j * tiles.target_stride + i, tiles.target_stride);
  for (std::int64_t j = 0; j < columns; ++j) {
    float* row = tiles.target + j * tiles.target_stride;
    for (std::int64_t i = j < whole_columns ? whole_rows : 0; i < rows; ++i)
      row[i] = tiles.source[i * tiles.source_stride + j];
    std::fill(row + rows, row + padded_width(rows), 0.0F);
  }
}

}  // namespace nadi::inline engines::cpu
