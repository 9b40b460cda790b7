// How the rows of layer norm and RMS norm, and of their gradients, are shared out to threads.
//
// A row is in the registers of a team of warps, each thread with `vectors` vectors of it, `warps` * 32
// vectors apart. In the gradient a thread stays with its columns from row to row, and sums the gradients of
// weights over them in registers; blocks, one for each multiprocessor, leave their sums in the workspace
// (column_sums_plan.h).
#pragma once

#include <algorithm>
#include <cstdint>

#include "nadi/base/round_up.h"
#include "nadi/engine/cuda/device_traits.h"

namespace nadi::cuda {

struct NormTeams {
  static constexpr int kMostWarps = 16;
  // Of rows that are read element by element, whatever their type: so many make up a vector.
  static constexpr int kAnyVector = 4;
  // Of a thread, for such rows that are wide.
  static constexpr int kMostVectors = 8;
  static constexpr std::int64_t kMostColumns = std::int64_t{kMostWarps} * 32 * kMostVectors * kAnyVector;

  int vectors = 1;
  int warps = 1;  // of a team
  int teams = 1;  // of a block
  int threads() const { return 32 * warps * teams; }

  // Of vectors of 16 bytes. 0 vectors: rows are too wide for registers.
  static NormTeams of(std::int64_t columns, int vector) {
    const std::int64_t in_row = vectors_of(columns, vector);
    if (in_row <= 3 * kWarp) return {.vectors = static_cast<int>(divided_up(in_row, kWarp)), .teams = 4};
    return of_block(in_row, kMostWarps / 2, 4);
  }

  // Of the gradient. A thread holds up to three sums for each of its columns, so it should have few of them;
  // with one vector there are registers for `block_warps` warps.
  static NormTeams of_gradient(std::int64_t columns, int vector, int block_warps) {
    NormTeams teams = of_block(vectors_of(columns, vector), kMostWarps, 2);
    if (teams.vectors == 1) teams.share_block(block_warps);
    return teams;
  }
  static constexpr int kLayerBlockWarps = 24, kRmsBlockWarps = 32;

  // Of any types at any addresses, forward and backward.
  static NormTeams of_any(std::int64_t columns) {
    const std::int64_t in_row = vectors_of(columns, kAnyVector);
    const int vectors = in_row <= kMostWarps * kWarp ? 1 : kMostVectors;
    NormTeams teams{.vectors = vectors, .warps = static_cast<int>(divided_up(in_row, vectors * kWarp))};
    if (teams.warps == 1) teams.share_block(kMostWarps);
    return teams;
  }

  // Blocks of the gradient, each of which goes through many rows.
  static std::int64_t parts(std::int64_t rows, const DeviceTraits& traits) {
    return std::max<std::int64_t>(1, std::min<std::int64_t>(rows, traits.multiprocessors));
  }

  // Sums of the gradients of weight and bias, and of one more matrix of the same rows.
  static std::int64_t workspace(std::int64_t rows, std::int64_t columns, const DeviceTraits& traits) {
    constexpr std::int64_t kSums = 3;
    return kSums * parts(rows, traits) * columns * static_cast<std::int64_t>(sizeof(float));
  }

 private:
  static constexpr std::int64_t kWarp = 32;

  static std::int64_t vectors_of(std::int64_t columns, int vector) {
    return divided_up(std::max<std::int64_t>(columns, 1), vector);
  }
  static NormTeams of_block(std::int64_t in_row, int wanted_warps, int most_vectors) {
    for (int vectors = 1; vectors <= most_vectors; vectors *= 2) {
      const std::int64_t warps = divided_up(in_row, vectors * kWarp);
      if (warps <= wanted_warps || (vectors == most_vectors && warps <= kMostWarps))
        return {.vectors = vectors, .warps = static_cast<int>(warps)};
    }
    return {.vectors = 0};
  }
  // Teams of several warps meet at one of the 15 barriers that a block has besides that of all its threads.
  void share_block(int block_warps) {
    teams = std::max(1, block_warps / warps);
    if (warps > 1) teams = std::min(teams, 15);
  }
};

}  // namespace nadi::cuda
