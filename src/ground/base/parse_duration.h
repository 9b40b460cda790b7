// Reads a duration as people write it: "250ns", "10 us", "1.5ms", "2s".
#pragma once

#include <optional>
#include <string_view>

#include "nadi/base/units.h"

namespace nadi::inline ground {

// A number, whole or decimal, not negative, and its unit: ns, us, ms, s or min. A space may stand between.
// Nothing when the text is something else, has no unit (0 needs none), or does not fit 63 bits of
// nanoseconds; what is finer than a nanosecond is rounded.
std::optional<Nanoseconds> parse_duration(std::string_view text);

}  // namespace nadi::inline ground
