// --wide: tables with all their columns, whatever the width of the terminal.
#pragma once

#include <functional>

#include "nadi/tables/report_style.h"

namespace nadi::inline show {

class Flags;
struct Console;

void add_wide_flag(Flags& flags);

// Calls `print` with the style of the console; with --wide, its tables have no limit and their lines are not
// wrapped.
void print_wide_or_not(const Flags& flags, Console& console,
                       const std::function<void(const ReportStyle&)>& print);

}  // namespace nadi::inline show
