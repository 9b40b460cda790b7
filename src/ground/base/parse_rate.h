// Reads and writes rates as people and data sheets write them: "200 Gbit/s", "25 GB/s", "312 TFLOP/s".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "nadi/base/rates.h"

namespace nadi::inline ground {

// A positive number, whole or decimal, and its unit. Prefixes k, M, G, T, P are powers of 1000, Ki to Ti of
// 1024. Bits and bytes are different: "bit/s" (or "bps") and "B/s". A space may stand between. Nothing when
// the text is something else, or has no unit.
std::optional<ByteRate> parse_byte_rate(std::string_view text);
std::optional<FlopRate> parse_flop_rate(std::string_view text);  // "FLOP/s", or "FLOPS"

// The text that is read as exactly this rate, in the largest unit that has a short one: "1.555 TB/s".
std::string exact_text(ByteRate rate);
std::string exact_text(FlopRate rate);

}  // namespace nadi::inline ground
