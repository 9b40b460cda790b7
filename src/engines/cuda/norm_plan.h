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
#include "nadi/cuda/device_traits.h"

namespace nadi::inline engines::cuda {

struct NormTeams {
  static constexpr int kMostWarps = 16;
  // Elements that are read one by one, whatever their type: so many make up a vector.
  static constexpr int kAnyVector = 4;
  // Most vectors of a thread, for such rows that are wide.
  static constexpr int kMostVectors = 8;
  static constexpr std::int64_t kMostColumns = std::int64_t{kMostWarps} * 32 * kMostVectors * kAnyVector;

  // That sums of a block may take without asking for more than a block is given.
  static constexpr std::int64_t kSharedMemory = 47 * 1024;

  int vectors = 1;
  int warps = 1;  // of a team
  int teams = 1;  // of a block
  int threads() const { return 32 * warps * teams; }

  // Teams for vectors of 16 bytes. 0 vectors: rows are too wide for registers. Up to eight vectors a warp has a row
  // alone, and waits for nobody.
  static NormTeams of(std::int64_t columns, int vector) {
    const std::int64_t in_row = vectors_of(columns, vector);
    for (const int vectors : {1, 3, 4, 8})
      if (in_row <= vectors * kWarp) return {.vectors = vectors, .teams = 4};
    const std::int64_t warps = divided_up(in_row, 4 * kWarp);
    return warps <= kMostWarps ? NormTeams{.vectors = 4, .warps = static_cast<int>(warps)}
                               : NormTeams{.vectors = 0};
  }

  // Teams for the gradient. A thread holds three sums for each of its columns (layer norm) or one (RMS norm), so it
  // should have few of them, and there are registers for gradient_warps() warps.
  static NormTeams of_gradient(std::int64_t columns, int vector, bool layer) {
    const std::int64_t in_row = vectors_of(columns, vector);
    NormTeams teams{.vectors = 0};
    if (in_row <= 3 * kWarp)
      teams = {.vectors = static_cast<int>(divided_up(in_row, kWarp))};
    else if (layer && in_row <= kMostWarps * kWarp)
      teams = {.vectors = 1, .warps = static_cast<int>(divided_up(in_row, kWarp))};
    else if (in_row <= 2 * kMostWarps * kWarp)
      teams = {.vectors = 2, .warps = static_cast<int>(divided_up(in_row, 2 * kWarp))};
    if (teams.vectors > 0) teams.share_block(gradient_warps(teams.vectors, layer), vector);
    return teams;
  }
  static constexpr int gradient_warps(int vectors, bool layer) {
    if (layer) return vectors == 1 ? 24 : (vectors == 2 ? 16 : 12);
    return vectors == 1 ? 24 : (vectors == 2 ? 20 : 16);
  }

  // For any types at any addresses, forward and backward.
  static NormTeams of_any(std::int64_t columns) {
    const std::int64_t in_row = vectors_of(columns, kAnyVector);
    const int vectors = in_row <= kMostWarps * kWarp ? 1 : kMostVectors;
    NormTeams teams{.vectors = vectors, .warps = static_cast<int>(divided_up(in_row, vectors * kWarp))};
    if (teams.warps == 1) teams.share_block(kMostWarps, kAnyVector);
    return teams;
  }

  // Floats of shared memory for the sums of a team: a thread's are a little more than its team's threads
  // apart, so that neither writing nor reading them in the order of columns meets in one bank.
  int team_sums(int vector) const { return vectors * vector * (warps * 32 + 4); }

  // For the gradient, vectors of 16 bytes: what the block's rows take of all their operands, and how many more
  // than those that are computed with have a place in shared memory.
  std::int64_t row_bytes(int operands) const { return std::int64_t{16} * operands * vectors * threads(); }
  int rows_ahead(int operands, const DeviceTraits& traits) const {
    constexpr std::int64_t kMost = 2, kOwn = 1024;  // bytes of the sums over rows
    return static_cast<int>(
        std::min((traits.shared_memory_per_block - kOwn) / row_bytes(operands) - 1, kMost));
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
  // Teams of several warps meet at one of the 15 barriers that a block has besides that of all its threads.
  void share_block(int block_warps, int vector) {
    teams = std::max(1, block_warps / warps);
    if (warps > 1) teams = std::min(teams, 15);
    teams = std::min(teams, static_cast<int>(kSharedMemory / team_sums(vector) / 4));
    teams = std::max(teams, 1);
  }
};

}  // namespace nadi::inline engines::cuda
