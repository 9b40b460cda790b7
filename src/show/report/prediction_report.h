// A measured run against its prediction: text and JSON of `nadi compare`.
#pragma once

#include <iosfwd>

#include "nadi/base/json.h"
#include "nadi/tables/report_style.h"

namespace nadi::inline ask {
struct ComparisonAnswer;
}  // namespace nadi::inline ask

namespace nadi::inline show {

Json prediction_json(const ComparisonAnswer& answer);
void print_prediction(const ComparisonAnswer& answer, std::ostream& out, const ReportStyle& style);

}  // namespace nadi::inline show
