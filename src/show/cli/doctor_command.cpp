// nadi doctor
#include <ostream>
#include <vector>

#include "nadi/base/json.h"
#include "nadi/cli/commands.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/report/doctor_report.h"
#include "nadi/terminal/console.h"

namespace nadi::inline show {
void add_doctor_flags(Flags& flags) {
  flags.toggle("--json", "print JSON, with what each command lacks: see docs/json.md");
}

void run_doctor(const Flags& flags, Console& console) {
  const std::vector<MachineCheck> checks = check_machine(machine_of_this_process());
  if (flags.given("--json")) {
    std::vector<std::string_view> names;
    for (const CommandEntry& entry : commands()) names.push_back(entry.name);
    console.out << dump_json(doctor_json(checks, names));
  } else {
    print_doctor(checks, console.out, style_for(console));
  }
}

}  // namespace nadi::inline show
