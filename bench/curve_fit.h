// Fits the constants of a device to measured steps: a coordinate search on the error that the simulator
// makes, the same every time.
//
//   CurveFit fit(rows);                       // those to be fitted to
//   const DeviceCurve curve = fit.search(start, kEagerConstants, 5);
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "nadi/cluster/device_curve.h"
#include "nadi/parallel/stage_programs.h"
#include "published_rows.h"

namespace nadi {

// A row with its programs, which stay the same whatever the constants are.
class PredictedRow {
 public:
  explicit PredictedRow(const PublishedRow& row);

  const PublishedRow& row() const { return row_; }
  // Seconds that a step takes on devices with these constants.
  double predict(const DeviceCurve& curve);
  double error(const DeviceCurve& curve) { return predict(curve) / row_.measured_s - 1; }

 private:
  PublishedRow row_;
  StagePrograms programs_;
};

using CurveMember = double DeviceCurve::*;

// Constants that steps launched op by op, with unfused attention, say something of.
inline constexpr std::array<CurveMember, 8> kEagerConstants{
    &DeviceCurve::forward_issue_us,    &DeviceCurve::backward_issue_us,
    &DeviceCurve::matrix_efficiency,   &DeviceCurve::score_efficiency,
    &DeviceCurve::kernel_gap_us,       &DeviceCurve::depth_ramp,
    &DeviceCurve::collective_issue_us, &DeviceCurve::step_us};
// And captured graphs with fused attention, on one device: no host, no scores.
inline constexpr std::array<CurveMember, 6> kCapturedConstants{
    &DeviceCurve::matrix_efficiency,    &DeviceCurve::bandwidth_efficiency,
    &DeviceCurve::attention_efficiency, &DeviceCurve::attention_gradient_efficiency,
    &DeviceCurve::kernel_gap_us,        &DeviceCurve::split_depth};

// The errors of rows in their order, computed on all processors.
std::vector<double> errors_of(std::span<PredictedRow* const> rows, const DeviceCurve& curve);

class CurveFit {
 public:
  explicit CurveFit(std::vector<PredictedRow*> rows) : rows_(std::move(rows)) {}

  // Mean over sources of the mean error, each row's counted to a quarter at most: some rows are surely wrong.
  double loss(const DeviceCurve& curve);
  // Changes one constant after the other, by less and less, as long as that lowers the loss.
  DeviceCurve search(DeviceCurve curve, std::span<const CurveMember> constants, int rounds);

 private:
  std::vector<PredictedRow*> rows_;
};

}  // namespace nadi
