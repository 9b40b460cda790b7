#include "nadi/cluster/device_curve.h"

#include <array>

namespace nadi::inline describe {

std::span<const CurveConstant> curve_constants() {
  using Curve = DeviceCurve;
  static constexpr std::array kConstants{
      CurveConstant{"matrix_efficiency", &Curve::matrix_efficiency, 0.01, 1},
      CurveConstant{"depth_ramp", &Curve::depth_ramp, 0, 1024},
      CurveConstant{"split_depth", &Curve::split_depth, 64, 65536},
      CurveConstant{"attention_efficiency", &Curve::attention_efficiency, 0.01, 1},
      CurveConstant{"attention_gradient_efficiency", &Curve::attention_gradient_efficiency, 0.01, 1},
      CurveConstant{"bandwidth_efficiency", &Curve::bandwidth_efficiency, 0.01, 1},
      CurveConstant{"score_efficiency", &Curve::score_efficiency, 0.1, 1},
      CurveConstant{"kernel_gap_us", &Curve::kernel_gap_us, 0, 60},
      CurveConstant{"forward_issue_us", &Curve::forward_issue_us, 0, 150},
      CurveConstant{"backward_issue_us", &Curve::backward_issue_us, 0, 150},
      CurveConstant{"collective_issue_us", &Curve::collective_issue_us, 0, 150},
      CurveConstant{"step_us", &Curve::step_us, 0, 20000},
  };
  static_assert(kConstants.size() <= 12);
  return kConstants;
}

}  // namespace nadi::inline describe
