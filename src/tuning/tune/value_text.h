// A value of a parameter as people write it on command lines: 4, 0.001, true, Ring.
#pragma once

#include <optional>
#include <string_view>

#include "nadi/study/distribution.h"

namespace nadi::inline tuning {

// 4 is a whole number, 4.0 and 1e-3 are numbers, true and false truth values; anything else is a text.
ParameterValue value_of_text(std::string_view text);

// A finite number that is the whole text; nothing for anything else.
std::optional<double> number_of_text(std::string_view text);

// The number of a value that is one.
std::optional<double> number_of(const ParameterValue& value);

// To be read: numbers to six digits.
std::string shown_text(const ParameterValue& value);

}  // namespace nadi::inline tuning
