// How long an op takes on a device.
//
//   const DeviceModel model(cluster.device(id));
//   const Nanoseconds time = model.time_of(work);
//
// Two sources: the table of measured ops of the device (DeviceSpec::measured), which wins where it has an
// answer, and a roofline with efficiency curves (DeviceSpec::curve).
#pragma once

#include <cstdint>
#include <memory>

#include "nadi/base/units.h"
#include "nadi/cluster/device.h"
#include "nadi/sim/op_work.h"

namespace nadi {

enum class TimeSource : std::uint8_t { kModel, kMeasured, kInterpolated };

struct OpTime {
  Nanoseconds time;
  TimeSource source = TimeSource::kModel;
};

class MeasuredTimes;

class DeviceModel {
 public:
  explicit DeviceModel(const DeviceSpec& device);

  OpTime time_of(const OpWork& work) const;
  const DeviceSpec& device() const { return device_; }

 private:
  OpTime modelled(const OpWork& work) const;  // the roofline alone

  DeviceSpec device_;
  std::shared_ptr<const MeasuredTimes> measured_;  // by copies of the model; nullptr: no table
};

}  // namespace nadi
