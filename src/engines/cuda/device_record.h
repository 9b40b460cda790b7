// A GPU as records of runs describe it.
#pragma once

#include "nadi/recording/executed_step.h"

namespace nadi::inline engines::cuda {

class Device;

// With the properties that PyTorch's profiler writes.
ExecutedDevice device_record(const Device& device);

}  // namespace nadi::inline engines::cuda
