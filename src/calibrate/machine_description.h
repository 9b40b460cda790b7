// What a cluster file says of the device that was measured, besides its table: names, memory, and the figures
// of the roofline, which are the best that any measured op has reached.
#pragma once

#include "nadi/calibrate/calibration.h"
#include "nadi/cluster/device.h"

namespace nadi {

// `measured` is not empty. `ranks` share the machine, each with so many threads.
DeviceSpec describe_device(const CalibrationOptions& options, std::int64_t ranks, int threads,
                           MeasuredOps measured);

}  // namespace nadi
