#include "curve_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace nadi {
namespace {

// Constants that the published steps say something of: none of them has fused attention.
constexpr std::array kFitted{&DeviceCurve::forward_issue_us,    &DeviceCurve::backward_issue_us,
                             &DeviceCurve::matrix_efficiency,   &DeviceCurve::score_efficiency,
                             &DeviceCurve::kernel_gap_us,       &DeviceCurve::depth_ramp,
                             &DeviceCurve::collective_issue_us, &DeviceCurve::step_us};
constexpr double kFirstStep = 0.3, kShrink = 0.5;

}  // namespace

PredictedRow::PredictedRow(const PublishedRow& row)
    : row_(row), programs_(row.config, row.request, row.plan) {}

double PredictedRow::predict(const DeviceCurve& curve) {
  for (DeviceSpec& device : row_.cluster.devices) device.curve = curve;
  return to_seconds(
      simulate_step(programs_, row_.cluster, {.overlap = row_.overlap, .keep_times = false}).iteration_time);
}

double CurveFit::loss(const DeviceCurve& curve) {
  std::map<std::string, std::pair<double, int>> by_source;
  for (PredictedRow* row : rows_) {
    auto& [sum, count] = by_source[row->row().source];
    sum += std::min(0.25, std::abs(std::log1p(row->error(curve))));
    ++count;
  }
  double total = 0;
  for (const auto& [source, part] : by_source) total += part.first / part.second;
  return total / static_cast<double>(by_source.size());
}

DeviceCurve CurveFit::search(DeviceCurve curve, int rounds) {
  double best = loss(curve), step = kFirstStep;
  for (int round = 0; round < rounds; ++round, step *= kShrink) {
    for (double DeviceCurve::*const constant : kFitted) {
      const auto bounds = std::ranges::find_if(curve_constants(),
                                               [&](const CurveConstant& c) { return c.value == constant; });
      for (const double factor : {1 + step, 1 / (1 + step)}) {
        DeviceCurve tried = curve;
        tried.*constant = std::clamp(curve.*constant * factor, bounds->least, bounds->most);
        const double found = loss(tried);
        if (found >= best) continue;
        best = found;
        curve = tried;
        break;
      }
    }
  }
  return curve;
}

}  // namespace nadi
