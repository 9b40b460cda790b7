// Times of communication among ranks of this machine, by type, number of members and size.
//
//   const MeasuredCollectives table = sample_communication(world, {.largest = 64_MiB});   // on every rank
//
// All groups of a size work at the same time, as the groups of a plan do: of four ranks two groups of two.
// Times are medians of repetitions, each from a barrier until the slowest rank is done; of a message half of
// the way there and back.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "nadi/cluster/measured_collectives.h"
#include "nadi/engine/comm/communicator.h"

namespace nadi {

struct CommSampleOptions {
  Bytes largest = 64_MiB;
  std::int64_t factor = 8;  // from one size to the next
  std::int64_t repetitions = 5;
  std::function<void()> at_each = [] {};  // called between measurements: progress, interruption
};

// How many measurements there are: at_each is called so often.
std::int64_t comm_sample_count(std::int64_t ranks, const CommSampleOptions& options);

MeasuredCollectives sample_communication(Communicator& world, const CommSampleOptions& options);

// The largest of a number over all ranks, on every rank.
double largest_over_ranks(Communicator& world, double value);

}  // namespace nadi
