// How much of its data sheet a device reaches: the few constants of the roofline with efficiency curves
// (sim/device_model.h has the formulas). At most 12, fitted to measurements and bounded; the catalogue has
// those of each device with what they were fitted to.
#pragma once

#include <span>
#include <string_view>

namespace nadi {

struct DeviceCurve {
  double matrix_efficiency = 0.85;    // of the peak, which large matrix products reach
  double bandwidth_efficiency = 0.8;  // of the memory bandwidth, which large element-wise ops reach

  bool operator==(const DeviceCurve&) const = default;
};

// The constants by name, as files and reports have them, with their bounds.
struct CurveConstant {
  std::string_view name;  // "matrix_efficiency"
  double DeviceCurve::*value;
  double least, most;
};
std::span<const CurveConstant> curve_constants();

}  // namespace nadi
