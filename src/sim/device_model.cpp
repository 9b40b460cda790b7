#include "nadi/sim/device_model.h"

#include <algorithm>

namespace nadi {

OpTime DeviceModel::time_of(const OpWork& work) const {
  const DeviceCurve& curve = device_.curve;
  Nanoseconds time = device_.launch_overhead;
  if (work.matrix > Flops{})
    time = std::max(time, time_for(work.matrix, device_.peak(work.dtype) * curve.matrix_efficiency));
  if (work.vector > Flops{} && device_.vector_peak > FlopRate{})
    time = std::max(time, time_for(work.vector, device_.vector_peak));
  time = std::max(time,
                  time_for(work.read + work.written, device_.memory_bandwidth * curve.bandwidth_efficiency));
  return {.time = time};
}

}  // namespace nadi
