// Reads a size as people write it: "1048576", "64 KiB", "1MB", "1.5GiB".
#pragma once

#include <optional>
#include <string_view>

#include "nadi/base/units.h"

namespace nadi::inline ground {

// A number, whole or decimal, and a unit: none or B; k, M, G or T with or without B, powers of 1000; Ki, Mi,
// Gi or Ti with or without B, powers of 1024. Upper and lower case are equal, and a space may stand between.
// Nothing when the text is something else, is no whole number of bytes, or does not fit 63 bits.
std::optional<Bytes> parse_bytes(std::string_view text);

}  // namespace nadi::inline ground
