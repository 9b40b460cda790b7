// What ops took on a device, as `nadi calibrate` measures them: a table that wins over the model where it has
// an answer, with interpolation in between (sim/device_model.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/graph/dtype.h"

namespace nadi {

struct MeasuredOp {
  std::string kind;  // of the op: "matmul", "layer_norm_grad"
  DType dtype = DType::kF32;
  std::vector<std::int64_t> sizes;  // what the time depends on, in the order that its kind says
  Nanoseconds time;

  bool operator==(const MeasuredOp&) const = default;
};

struct MeasuredOps {
  std::vector<MeasuredOp> ops;

  bool empty() const { return ops.empty(); }
  bool operator==(const MeasuredOps&) const = default;
};

}  // namespace nadi
