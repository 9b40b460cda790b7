// Times of communication among ranks of this machine, by type, number of members and size.
//
//   const MeasuredCollectives table = sample_communication(world, {.largest = 64_MiB}, quiet);   // on every
//   rank
//
// All groups of a size work at the same time, as the groups of a plan do: of four ranks two groups of two.
// Times are medians of repetitions, each from a barrier until the slowest rank is done; of a message half of
// the way there and back. What was disturbed is measured again (quiet_windows.h).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "nadi/cluster/measured_collectives.h"
#include "nadi/comm/communicator.h"

namespace nadi::inline runs {

class QuietWindows;

struct CommSampleOptions {
  Bytes largest = 64_MiB;
  std::int64_t factor = 8;  // from one size to the next
  std::int64_t repetitions = 5;
  std::function<void()> at_each = [] {};   // called before each measurement: progress, interruption
  std::function<void()> at_again = [] {};  // in its place where one is made again
};

// How many measurements there are: at_each is called so often.
std::int64_t comm_sample_count(std::int64_t ranks, const CommSampleOptions& options);

MeasuredCollectives sample_communication(Communicator& world, const CommSampleOptions& options,
                                         QuietWindows& quiet);

}  // namespace nadi::inline runs
