#include "nadi/cluster/device_curve.h"

#include <array>

namespace nadi {

std::span<const CurveConstant> curve_constants() {
  static constexpr std::array kConstants{
      CurveConstant{"matrix_efficiency", &DeviceCurve::matrix_efficiency, 0.01, 1},
      CurveConstant{"bandwidth_efficiency", &DeviceCurve::bandwidth_efficiency, 0.01, 1},
  };
  return kConstants;
}

}  // namespace nadi
