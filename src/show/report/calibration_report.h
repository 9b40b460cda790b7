// What a calibration measured, in a table with a line for each number of ranks: text and JSON of `nadi
// calibrate`.
#pragma once

#include <filesystem>
#include <iosfwd>

#include "nadi/base/json.h"
#include "nadi/cluster/cluster.h"
#include "nadi/tables/report_style.h"

namespace nadi::inline show {

struct CalibrationView {
  const Cluster& machine;
  std::filesystem::path file;
  double seconds = 0;  // that it took
};

Json calibration_json(const CalibrationView& view);
void print_calibration(const CalibrationView& view, std::ostream& out, const ReportStyle& style);

}  // namespace nadi::inline show
