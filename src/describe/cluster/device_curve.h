// How much of its data sheet a device reaches: the few constants of the roofline with efficiency curves
// (sim/device_model.h has the formulas). At most 12, fitted to measurements and bounded; the catalogue has
// those of each device with what they were fitted to (`make validate` fits them again).
//
// The defaults are a device that nothing is known of: no kernel waits for its host, none loses anything
// between it and the next.
#pragma once

#include <span>
#include <string_view>

namespace nadi::inline describe {

struct DeviceCurve {
  // Matrix products: of the peak, which large ones reach; how many more elements of k a tile of the result
  // takes to start and to be written; and the least k of a part where a product is split along k to fill the
  // device: none is split where this is large.
  double matrix_efficiency = 0.85;
  double depth_ramp = 0;
  double split_depth = 1024;
  // Fused attention: of the matrix peak, forward and backward.
  double attention_efficiency = 0.6;
  double attention_gradient_efficiency = 0.5;
  // Everything else: of the memory bandwidth, which passes over memory reach; and of that, what the passes
  // over the scores of unfused attention reach (masks are read and written there, which graphs do not count).
  double bandwidth_efficiency = 0.8;
  double score_efficiency = 1;
  // Microseconds that every op takes besides, on the device.
  double kernel_gap_us = 0;
  // Microseconds that the host needs to launch an op: the device waits where it is faster than its host. 0
  // for captured graphs. Of forward ops, backward ops, and collectives; updates are launched together.
  double forward_issue_us = 0;
  double backward_issue_us = 0;
  double collective_issue_us = 0;
  // Microseconds that the host needs once per step: data, schedules, messages.
  double step_us = 0;

  bool operator==(const DeviceCurve&) const = default;
};

// The constants by name, as files and reports have them, with their bounds.
struct CurveConstant {
  std::string_view name;  // "matrix_efficiency"
  double DeviceCurve::*value;
  double least, most;
};
std::span<const CurveConstant> curve_constants();

}  // namespace nadi::inline describe
