// How far this rank's clock is ahead of rank 0's, so that traces of all ranks can be put on one time line.
//
// Clocks of processes on one host are the same; those of hosts differ by any amount. A rank asks rank 0 for
// its time, and assumes that rank 0 answered half-way through the round trip. Of many round trips the fastest
// one counts. The error is at most half of that round trip.
#pragma once

#include <functional>

#include "nadi/base/units.h"
#include "nadi/comm/communicator.h"
#include "nadi/comm/steady_time.h"

namespace nadi::inline engines {

// Called by all ranks. 0 on rank 0.
Nanoseconds measure_clock_offset(Communicator& world,
                                 const std::function<Nanoseconds()>& clock = steady_time);

}  // namespace nadi::inline engines
