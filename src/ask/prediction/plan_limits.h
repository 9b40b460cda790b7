// Budgets and deadlines as people write them, as limits of a step.
//
//   parse_budget("5 $/1M tokens", tokens_per_step)             // 5 dollars per million tokens
//   parse_deadline("300B tokens in 30 days", tokens_per_step)  // what a step may take at most
#pragma once

#include <cstdint>
#include <string>

#include "nadi/base/units.h"

namespace nadi::inline ask {

// Dollars per million tokens: "5 $/1M tokens", "$0.02/step", "1200 $/10B tokens". Error (usage) for anything
// else, and for a budget that is not above 0.
double parse_budget(const std::string& text, std::int64_t tokens_per_step);

// The longest step: "1.5s", or "300B tokens in 30 days" (tokens with K, M, B or T; min, h, days or weeks).
// Error (usage) for anything else, and for less than a nanosecond.
Nanoseconds parse_deadline(const std::string& text, std::int64_t tokens_per_step);

}  // namespace nadi::inline ask
