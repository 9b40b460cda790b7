// Fits the constants of a device to measured steps: a coordinate search on the error that the simulator
// makes, the same every time.
//
//   CurveFit fit(rows);                       // those to be fitted to
//   const DeviceCurve curve = fit.search(start);
#pragma once

#include <memory>
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

class CurveFit {
 public:
  explicit CurveFit(std::vector<PredictedRow*> rows) : rows_(std::move(rows)) {}

  // Mean over sources of the mean error, each row's counted to a quarter at most: some rows are surely wrong.
  double loss(const DeviceCurve& curve);
  // Changes one constant after the other, by less and less, as long as that lowers the loss.
  DeviceCurve search(DeviceCurve curve, int rounds);

 private:
  std::vector<PredictedRow*> rows_;
};

}  // namespace nadi
