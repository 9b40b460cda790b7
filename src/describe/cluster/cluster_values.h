// Quantities in JSON: texts with a unit. What is wrong is Error (input) with the place and an example.
#pragma once

#include "nadi/base/json.h"
#include "nadi/base/rates.h"
#include "nadi/base/units.h"

namespace nadi::inline describe {

ByteRate byte_rate_of(const JsonValue& value);    // "200 Gbit/s", "25 GB/s"
FlopRate flop_rate_of(const JsonValue& value);    // "312 TFLOP/s"
Bytes size_of_value(const JsonValue& value);      // "40 GiB"; at least 1 byte
Nanoseconds duration_of(const JsonValue& value);  // "5 us"
double price_of(const JsonValue& value);          // "32.77 $/h": dollars per hour
double power_of(const JsonValue& value);          // "400 W": watts
// A plain number from `least` to `most`, and a whole one.
double number_of(const JsonValue& value, double least, double most);
std::int64_t count_of(const JsonValue& value, std::int64_t least, std::int64_t most);

// The same as texts that are read back exactly.
std::string size_text(Bytes size);
std::string duration_text(Nanoseconds time);
std::string price_text(double dollars_per_hour);
std::string power_text(double watts);

}  // namespace nadi::inline describe
