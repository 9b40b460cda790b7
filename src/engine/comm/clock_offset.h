// How far this rank's clock is ahead of rank 0's, so that traces of all ranks can be put on one time line.
//
// Clocks of processes on one host are the same; those of hosts differ by any amount. A rank asks rank 0 for
// its time, and takes the answer to be of the moment in the middle between asking and hearing: of many times,
// the one that was answered fastest counts. The error is at most half of that round trip.
#pragma once

#include <functional>

#include "nadi/base/units.h"
#include "nadi/engine/comm/communicator.h"
#include "nadi/engine/comm/steady_time.h"

namespace nadi {

// Called by all ranks. 0 on rank 0.
Nanoseconds measure_clock_offset(Communicator& world,
                                 const std::function<Nanoseconds()>& clock = steady_time);

}  // namespace nadi
