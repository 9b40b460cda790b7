// How the rows of layer norm and RMS norm, and of their gradients, are shared out to threads.
//
// A row is in the registers of a team: one warp for narrow rows, a whole block for wide ones. Each thread has
// `vectors` vectors of the row, `warps` * 32 vectors apart. In the gradient a thread stays with its columns
// from row to row, and sums the gradients of weights over them in registers; blocks, `parts` of them, leave
// their sums in the workspace (column_sums_plan.h).
#pragma once

#include <algorithm>
#include <cstdint>

#include "nadi/base/round_up.h"
#include "nadi/engine/cuda/device_traits.h"

namespace nadi::cuda {

struct NormTeams {
  static constexpr int kMostWarps = 16;
  static constexpr int kMostVectors = 8;  // of a thread
  // Elements of a vector: as many as 16 bytes hold, or of rows that are read element by element.
  static constexpr int kNarrowVector = 4;

  int vectors = 1;
  int warps = 1;  // of a team
  int teams = 1;  // of a block
  int threads() const { return 32 * warps * teams; }

  // 0 vectors: rows are too wide for registers.
  static NormTeams of(std::int64_t columns, int vector, bool gradient) {
    const std::int64_t in_row = divided_up(std::max<std::int64_t>(columns, 1), vector);
    constexpr std::int64_t kWarp = 32;
    if (in_row <= 3 * kWarp)
      return {.vectors = static_cast<int>(divided_up(in_row, kWarp)), .teams = gradient ? kMostWarps : 4};
    // A thread of the gradient holds three sums for each of its columns, so it should have few of them.
    const std::int64_t wanted_warps = gradient ? 16 : 8;
    for (const int vectors : {1, 2, 4}) {
      const std::int64_t warps = divided_up(in_row, vectors * kWarp);
      if (warps <= wanted_warps || (vectors == 4 && warps <= kMostWarps))
        return {.vectors = vectors, .warps = static_cast<int>(warps)};
    }
    const std::int64_t warps = divided_up(in_row, kMostVectors * kWarp);
    return warps <= kMostWarps ? NormTeams{.vectors = kMostVectors, .warps = static_cast<int>(warps)}
                               : NormTeams{.vectors = 0};
  }

  // Blocks of the gradient: all that a GPU has place for at once, each going through many rows.
  std::int64_t parts(std::int64_t rows, const DeviceTraits& traits) const {
    const std::int64_t per_multiprocessor =
        teams > 1 ? 1 : std::max(1, (vectors == 1 ? 2 * kMostWarps : kMostWarps) / warps / 2 * 2);
    return std::max<std::int64_t>(
        1, std::min(divided_up(rows, teams), per_multiprocessor * traits.multiprocessors));
  }
};

}  // namespace nadi::cuda
