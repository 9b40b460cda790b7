// How sums over the rows of a matrix are taken on a GPU: in two stages, so that many blocks work at them and
// yet the order of additions is fixed. First each block sums its part of the rows, in fp32; then the parts
// are added in double precision. With a single part there is no second stage.
#pragma once

#include <algorithm>
#include <cstdint>

#include "nadi/base/round_up.h"
#include "nadi/engine/cuda/device_traits.h"

namespace nadi::cuda {

struct ColumnSumsPlan {
  std::int64_t rows, columns;
  std::int64_t parts;
  std::int64_t rows_per_part;

  ColumnSumsPlan(std::int64_t row_count, std::int64_t column_count, const DeviceTraits& traits)
      : rows(row_count), columns(column_count) {
    constexpr std::int64_t kTile = 256;                // columns that a block takes at once
    constexpr std::int64_t kBlocks = 4;                // wanted on each multiprocessor
    constexpr std::int64_t kLeast = 32, kMost = 1024;  // rows of a part
    const std::int64_t tiles = divided_up(std::max<std::int64_t>(columns, 1), kTile);
    // Rounded down: a few blocks more than there is place for would take as long again.
    const std::int64_t wanted = kBlocks * traits.multiprocessors / tiles;
    parts = std::min(std::max(wanted, divided_up(rows, kMost)), divided_up(rows, kLeast));
    parts = std::max<std::int64_t>(parts, 1);
    rows_per_part = divided_up(rows, parts);
    if (rows_per_part > 0) parts = divided_up(rows, rows_per_part);
  }

  std::int64_t workspace() const {
    return parts > 1 ? parts * columns * static_cast<std::int64_t>(sizeof(float)) : 0;
  }
};

}  // namespace nadi::cuda
