// A measured run against its prediction, op by op.
//
//   ComparedRank rank = compare_rank(trace, predicted);       // predicted: by row, as simulate_traces()
//   gives it const ComparisonResult result = summarize_comparison({rank}); result.median_error // of single
//   kernels
//
// Every computation node of the device with a time and known work is a kernel. Ops that were fused into it
// (attribute `fused_into`) are part of it: its work is that of all of them (analysis/timeline.h). Errors are
// predicted / measured - 1. Communication is shown beside it and is not part of the median: its measured time
// begins when the rank has come to it and contains waiting for others, its predicted one begins when all have
// come.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/sim/simulation.h"
#include "nadi/trace/trace.h"

namespace nadi::inline predict {

// A kernel of the trace, or communication.
struct ComparedNode {
  std::size_t row = 0;
  std::int64_t rank = 0;
  std::int64_t occurrence = 0;  // of its name in its step, from 0
  std::string kind;             // "matmul", "all_reduce"
  std::string name;
  bool communicates = false;
  Nanoseconds measured = {}, predicted = {};
  Nanoseconds start = {}, predicted_start = {};

  double error() const {
    return static_cast<double>(predicted.count()) / static_cast<double>(measured.count()) - 1;
  }
};

struct ComparedRank {
  std::int64_t rank = 0;
  std::vector<ComparedNode> nodes = {};
  std::int64_t without_time = 0;   // nodes that neither have a time nor are part of another
  std::int64_t without_work = 0;   // computation whose work is not known: its prediction is its own time
  std::int64_t steps = 1;          // that were compared
  Nanoseconds measured_step = {};  // from the start of its first node to the end of its last, in the mean
};

// Steps of `left_out` (disturbed_steps.h) count neither as measured nor as predicted; some step must remain.
ComparedRank compare_rank(const Trace& trace, std::int64_t rank, std::span<const NodeTime> predicted,
                          const std::set<std::int64_t>& left_out = {});

struct ComparedKind {
  std::string kind;
  bool communicates = false;
  std::int64_t count = 0;                     // of all ranks and steps
  Nanoseconds measured = {}, predicted = {};  // per step of a rank, in the mean
  double median_error = 0;                    // of single ops, as in ComparisonResult

  double error() const {
    return measured.count() == 0
               ? 0
               : static_cast<double>(predicted.count()) / static_cast<double>(measured.count()) - 1;
  }
};

struct ComparisonResult {
  std::vector<ComparedKind> kinds = {};      // the largest measured time first
  std::vector<ComparedNode> offenders = {};  // computation; the largest difference first, whichever way
  // Error of computation ops of all ranks, without signs; an op of several steps counts with the median of its
  // times.
  double median_error = 0;
  std::int64_t nodes = 0;  // of computation that were compared
  std::int64_t without_time = 0, without_work = 0;
  Nanoseconds measured_iteration = {};                          // of the slowest rank
  Nanoseconds computed_measured = {}, computed_predicted = {};  // kernels of a step, in the mean over ranks
};
ComparisonResult summarize_comparison(std::span<const ComparedRank> ranks, std::size_t offenders = 10);

}  // namespace nadi::inline predict
