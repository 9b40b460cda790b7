// How sums over the rows of a matrix are taken on a GPU: in two stages, so that many blocks work at them and
// yet the order of additions is fixed. First each block sums its part of the rows, in fp32; then the block
// that is the last of a tile of columns adds the parts in double precision. A small matrix is one part, and a
// block has all rows of a few columns: what a second stage waits for would take longer than its rows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "nadi/base/round_up.h"
#include "nadi/cuda/device_traits.h"

namespace nadi::inline engines::cuda {

struct ColumnSumsPlan {
  static constexpr std::int64_t kTile = 64;  // columns of a block, at most: parts have room for so many
  // More are not divided into parts: there are tiles enough for all multiprocessors.
  static constexpr std::int64_t kMostColumns = std::int64_t{1} << 17;

  std::int64_t rows, columns;
  bool small;  // one part, whose blocks take few columns
  std::int64_t parts;
  std::int64_t rows_per_part;

  ColumnSumsPlan(std::int64_t row_count, std::int64_t column_count, const DeviceTraits& traits)
      : rows(row_count), columns(column_count) {
    constexpr std::int64_t kSmallRows = 2048, kSmallColumns = 16;  // these for each multiprocessor
    constexpr std::int64_t kBlocks = 4;                            // wanted on each multiprocessor
    constexpr std::int64_t kLeast = 64, kMost = 4096;              // rows of a part
    constexpr std::int64_t kManyParts = 128;
    constexpr std::int64_t kRowsAtOnce = 32;  // of a block
    small = rows <= kSmallRows && columns <= kSmallColumns * traits.multiprocessors;
    const std::int64_t tiles = divided_up(std::max<std::int64_t>(columns, 1), kTile);
    // Rounded down: a few blocks more than there is place for would take as long again.
    const std::int64_t wanted = std::min(kBlocks * traits.multiprocessors / tiles, kManyParts);
    parts = std::min(std::max(wanted, divided_up(rows, kMost)), divided_up(rows, kLeast));
    if (small || columns > kMostColumns) parts = 1;
    parts = std::max<std::int64_t>(parts, 1);
    rows_per_part = rounded_up(divided_up(rows, parts), kRowsAtOnce);
    if (rows_per_part > 0) parts = divided_up(rows, rows_per_part);
  }

  std::int64_t workspace() const {
    return parts > 1 ? parts * rounded_up(columns, kTile) * static_cast<std::int64_t>(sizeof(float)) : 0;
  }
};

}  // namespace nadi::inline engines::cuda
