// Measured tables as parts of a cluster file. Rows are arrays, since there are hundreds; "columns" names what
// they hold, and a file with other columns is refused.
//
//   device["measured"] = measured_ops_json(spec.measured);
//   spec.measured = read_measured_ops(value.at("measured"));
#pragma once

#include "nadi/base/json.h"
#include "nadi/cluster/measured_collectives.h"
#include "nadi/cluster/measured_ops.h"

namespace nadi::inline describe {

Json measured_ops_json(const MeasuredOps& measured);
Json measured_collectives_json(const MeasuredCollectives& measured);

// Error (input) with the place of the mistake.
MeasuredOps read_measured_ops(const JsonValue& value);
MeasuredCollectives read_measured_collectives(const JsonValue& value);

}  // namespace nadi::inline describe
