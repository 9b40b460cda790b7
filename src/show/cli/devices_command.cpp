// nadi devices
#include <ostream>

#include "nadi/base/json.h"
#include "nadi/cli/wide_flag.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/report/devices_report.h"
#include "nadi/terminal/console.h"

namespace nadi::inline show {
void add_devices_flags(Flags& flags) {
  add_wide_flag(flags);
  flags.toggle("--json", "print JSON: see docs/json.md");
}

void run_devices(const Flags& flags, Console& console) {
  const DevicesView view = look_for_devices();
  if (flags.given("--json"))
    console.out << dump_json(devices_json(view));
  else
    print_wide_or_not(flags, console,
                      [&](const ReportStyle& style) { print_devices(view, console.out, style); });
}

}  // namespace nadi::inline show
