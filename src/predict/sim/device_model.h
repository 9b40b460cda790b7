// How long an op takes on a device.
//
//   const DeviceModel model(cluster.device(id));
//   const Nanoseconds time = model.time_of(work);
//
// Two sources: the table of measured ops of the device (DeviceSpec::measured), which wins where it has an
// answer, and a roofline with efficiency curves (DeviceSpec::curve), whose constants carry their names here.
//
// A matrix product of [m, k] by [k, n], b of them, is computed in tiles of the result of 256 by 128, one per
// unit (a GPU's multiprocessor) at a time, so that all units together work in waves, the last of which may be
// partly empty. Where there are fewer tiles than units, a product with large k is split along it:
//   tiles = b * ceil(m / 256) * ceil(n / 128)                                  or with m and n exchanged
//   parts = units / tiles, rounded down, at least 1, at most k / split_depth
//   time  = ceil(tiles * parts / units) * 2 * 256 * 128 * (k / parts + depth_ramp)
//           / (matrix_efficiency * peak / units)
// and takes at least as long as its operands and its result take through memory. Fused attention:
//   time  = matrix FLOPs / (attention_efficiency * peak)          backward: attention_gradient_efficiency
// All else is bound by memory, or by vector arithmetic at the data sheet's peak:
//   time  = bytes / (bandwidth_efficiency * memory_bandwidth)     scores of attention: times score_efficiency
// Each op of the forward and backward pass takes kernel_gap_us more, and no less than the device's
// launch_overhead; updates of many parameters are one kernel, and take neither.
//
// `issue` is what the host needs to launch the op (forward_issue_us, backward_issue_us, collective_issue_us):
// a replay keeps a clock of the host and starts no op before it was launched. What the host does once per
// step (step_us) is put on the op that counts updates, of which each step has one.
#pragma once

#include <cstdint>
#include <memory>

#include "nadi/base/units.h"
#include "nadi/cluster/device.h"
#include "nadi/sim/op_work.h"

namespace nadi::inline predict {

enum class TimeSource : std::uint8_t { kModel, kMeasured, kInterpolated, kGiven };

struct OpTime {
  Nanoseconds time;
  TimeSource source = TimeSource::kModel;
  Nanoseconds issue = {};  // of the host, to launch it
};

class MeasuredTimes;

class DeviceModel {
 public:
  explicit DeviceModel(const DeviceSpec& device);

  OpTime time_of(const OpWork& work) const;
  // What the host needs to launch a collective or a message.
  Nanoseconds communication_issue() const;
  const DeviceSpec& device() const { return device_; }

 private:
  OpTime modelled(const OpWork& work) const;  // the roofline alone
  double product_seconds(const OpWork& work) const;
  double memory_seconds(const OpWork& work) const;

  DeviceSpec device_;
  std::shared_ptr<const MeasuredTimes> measured_;  // by copies of the model; nullptr means no table
};

}  // namespace nadi::inline predict
