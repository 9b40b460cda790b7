// What a Chakra trace file holds, as JSON (docs/json.md has the keys) and as text for people.
#pragma once

#include "nadi/base/json.h"

namespace nadi {

struct Console;
struct TraceSummary;

Json trace_json(const TraceSummary& summary);
void print_trace(const TraceSummary& summary, Console& console);

}  // namespace nadi
