// Adds to a record what the profiler of a device reported.
//
//   ExecutedStep step = ...;                          // with its kernels, which have no end yet
//   add_device_work(step, std::move(reported), first);  // of the kernels from number `first` on, in any
//   order
//
// A kernel of the record lasts from the start of its first work on the device to the end of its last. A
// device starts a kernel while the one before on its stream still drains: what overlaps is shown one after
// the other, each from when the one before was done, so that their times add up to that of the stream.
// Streams get the numbers that the device has for them.
#pragma once

#include <cstddef>
#include <vector>

#include "nadi/recording/executed_step.h"

namespace nadi::inline traces {

// Kernels without work that have no end yet get the time at which the one before them on their stream was
// done. Kernels that have one, since the host knew it, become as long as their work where that is longer. The
// step grows where work lies outside: two clocks never agree to the nanosecond. Kernels before `first_kernel`
// were done before the others began.
void add_device_work(ExecutedStep& step, std::vector<DeviceWork> reported, std::size_t first_kernel = 0);

}  // namespace nadi::inline traces
