// How far ranks that do the same come apart: the last of them is later than the mean, and a collective waits
// for it.
//
//   RankSkew skew(world);
//   skew.add(steps);                                // of all ranks at the same time; on every rank
//   table.skew = skew.rows(alone_speedup);
//
// Ranks of one machine run the same kernels at the same time. Kernels of one rank may be slower for a while
// (shared caches, memory, threads of one core), and those of the next then are faster. So the times of the
// ranks are laid beside each other, in windows of kernels that take from 1 ms to 1 s: for each length the
// mean of the last rank's delay against the mean of all.
//
// Without a collective at the end of the window, ranks that are done go on computing. With one they wait, and
// the others are faster meanwhile (NodeSpec::alone_speedup, s). Of n ranks, those that compute beside the
// last become fewer from all to none, so on its way from the first rank's end to its own a share b of its
// neighbours computes: b = 0 of two ranks, 1/2 of many, (n - 2) / (2 (n - 1)) in between. So
//   wait = (last - mean) - (1 - b) (1 - 1/s) (last - first)
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "nadi/cluster/measured_collectives.h"
#include "nadi/comm/communicator.h"
#include "nadi/recording/executed_step.h"

namespace nadi::inline runs {

class RankSkew {
 public:
  explicit RankSkew(Communicator& world) : world_(world) {}

  // Steps that all ranks ran side by side, of the same program.
  void add(std::span<const ExecutedStep> steps);
  // Times of kernels in nanoseconds, by rank.
  void add(std::span<const std::vector<double>> ranks);
  // One row for each length, ascending; empty where no window was as long as the shortest.
  std::vector<MeasuredSkew> rows(double alone_speedup) const;

 private:
  struct Sums {
    std::int64_t windows = 0;
    double late = 0, spread = 0;  // of the window's mean: last less mean, last less first
  };
  static constexpr std::size_t kLengths = 6;
  static constexpr double kShortest = 1e6, kFactor = 4;  // nanoseconds; from one length to the next

  Communicator& world_;
  std::array<Sums, kLengths> sums_ = {};
};

}  // namespace nadi::inline runs
