// What a cluster file says of the device that was measured, besides its table: names, memory, and the figures
// of the roofline, which are the best that any kernel has reached.
#pragma once

#include <span>

#include "nadi/calibrate/calibration.h"
#include "nadi/cluster/device.h"

namespace nadi::inline runs {

// Neither is empty. `kernels`: OpSamples::kernels(). `ranks` share the machine, each with so many threads.
DeviceSpec describe_device(const CalibrationOptions& options, std::int64_t ranks, int threads,
                           MeasuredOps measured, std::span<const MeasuredOp> kernels);

}  // namespace nadi::inline runs
