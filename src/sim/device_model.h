// How long an op takes on a device.
//
//   const DeviceModel model(cluster.device(id));
//   const Nanoseconds time = model.time_of(work);
//
// Two sources: the table of measured ops of the device (DeviceSpec::measured), which wins where it has an
// answer, and a roofline with efficiency curves (DeviceSpec::curve).
#pragma once

#include <cstdint>

#include "nadi/base/units.h"
#include "nadi/cluster/device.h"
#include "nadi/sim/op_work.h"

namespace nadi {

enum class TimeSource : std::uint8_t { kModel, kMeasured, kInterpolated };

struct OpTime {
  Nanoseconds time;
  TimeSource source = TimeSource::kModel;
};

class DeviceModel {
 public:
  explicit DeviceModel(const DeviceSpec& device) : device_(device) {}

  OpTime time_of(const OpWork& work) const;
  const DeviceSpec& device() const { return device_; }

 private:
  DeviceSpec device_;
};

}  // namespace nadi
