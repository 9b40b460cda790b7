// What checking traces brought to light, as JSON (docs/json.md has the keys) and as text for people.
#pragma once

#include "nadi/base/json.h"

namespace nadi {

struct CheckReport;
struct Console;

Json check_json(const CheckReport& report);
void print_check(const CheckReport& report, Console& console);

}  // namespace nadi
