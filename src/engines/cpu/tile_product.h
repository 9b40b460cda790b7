// Products of small matrices that lie in the cache: the inner loops of attention.
//
// A tile is a row-major fp32 matrix. Its width is a multiple of 16 (padded with zeros) and it should begin on
// a cache line; tile_stride() keeps its columns from falling onto the same few sets of the cache.
//
//   c[i, j] (+)= sum over k of a(i, k) * b[k, j]
//
// `a` may be read either way round, so that one product serves P V and P^T dY. Rows of c are worked on in
// panels of kPanelRows, and what causal attention leaves out is left out per panel: each says how many
// columns of c it wants and which k contribute.
#pragma once

#include <cstdint>
#include <span>

#include "nadi/base/round_up.h"

namespace nadi::inline engines::cpu {

// A panel of 6 rows and 16 columns keeps its sums in 12 of the 16 registers of 8 floats.
inline constexpr int kPanelRows = 6;
inline constexpr int kPanelColumns = 16;

constexpr std::int64_t padded_width(std::int64_t width) {
  return rounded_up(width, kPanelColumns);
}
// From one row of a tile to the next: an odd number of cache lines.
constexpr std::int64_t tile_stride(std::int64_t width) {
  return (padded_width(width) / kPanelColumns | 1) * kPanelColumns;
}

struct TileProduct {
  float* c = nullptr;
  std::int64_t c_stride = 0;
  const float* a = nullptr;  // a(i, k) is a[i * a_row + k * a_column]
  std::int64_t a_row = 0;
  std::int64_t a_column = 1;
  const float* b = nullptr;
  std::int64_t b_stride = 0;
  bool add = false;  // to what is in c
};

// What is computed of kPanelRows rows of c: columns [0, columns), rounded up to whole panels, as sums over
// first <= k < end.
struct PanelExtent {
  std::int64_t columns = 0;
  std::int64_t first = 0;
  std::int64_t end = 0;
};

// One extent per panel; the last panel has the rows that are left of `rows`.
void multiply(const TileProduct& product, std::int64_t rows, std::span<const PanelExtent> panels);

// target[j, i] = source[i, j] for i < rows, j < columns; i from rows to padded_width(rows) become zeros.
// Strides are those of tiles.
struct Transposition {
  const float* source = nullptr;
  std::int64_t source_stride = 0;
  float* target = nullptr;
  std::int64_t target_stride = 0;
};
void transpose(const Transposition& tiles, std::int64_t rows, std::int64_t columns);

}  // namespace nadi::inline engines::cpu
