// What a calibration measured, in a table with a line for each number of ranks: text and JSON of `nadi
// calibrate`.
#pragma once

#include <iosfwd>

#include "nadi/base/json.h"
#include "nadi/calibration/calibration_question.h"
#include "nadi/tables/report_style.h"

namespace nadi::inline show {

Json calibration_json(const CalibrationAnswer& answer);
void print_calibration(const CalibrationAnswer& answer, std::ostream& out, const ReportStyle& style);

}  // namespace nadi::inline show
