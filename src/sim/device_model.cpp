#include "nadi/sim/device_model.h"

#include <algorithm>

#include "nadi/sim/device_measured.h"

namespace nadi {

DeviceModel::DeviceModel(const DeviceSpec& device) : device_(device) {
  if (!device.measured.empty()) measured_ = std::make_shared<const MeasuredTimes>(device.measured);
}

OpTime DeviceModel::time_of(const OpWork& work) const {
  if (measured_ != nullptr)
    if (const auto time = measured_->time_of(work, [this](const OpWork& w) { return modelled(w).time; }))
      return *time;
  return modelled(work);
}

OpTime DeviceModel::modelled(const OpWork& work) const {
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
