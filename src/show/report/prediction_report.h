// A measured run against its prediction: text and JSON of `nadi compare`.
#pragma once

#include <iosfwd>
#include <string>

#include "nadi/base/json.h"
#include "nadi/sim/measured_comparison.h"
#include "nadi/tables/report_style.h"

namespace nadi::inline show {

struct PredictionView {
  const ComparisonResult& result;
  std::string cluster;  // its name
  std::int64_t ranks = 1;
  Nanoseconds predicted_iteration = {};
  TimeSourceCounts sources = {};
  std::int64_t steps = 1;      // that were compared
  std::int64_t disturbed = 0;  // of those that the traces hold (sim/disturbed_steps.h)
  std::int64_t left_out = 0;   // of the disturbed ones

  double iteration_error() const {
    return static_cast<double>(predicted_iteration.count()) /
               static_cast<double>(result.measured_iteration.count()) -
           1;
  }
};

Json prediction_json(const PredictionView& view);
void print_prediction(const PredictionView& view, std::ostream& out, const ReportStyle& style);

}  // namespace nadi::inline show
