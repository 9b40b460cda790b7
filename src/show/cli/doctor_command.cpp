// nadi doctor
#include <memory>
#include <ostream>
#include <vector>

#include "nadi/base/json.h"
#include "nadi/cli/commands.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/report/doctor_report.h"
#include "nadi/terminal/console.h"

namespace nadi::inline show {
namespace {

class DoctorCommand : public Command {
 public:
  void add_flags(Flags& flags) const override {
    flags.add({.names = {"--json"}, .help = "print JSON, with what each command lacks: see docs/json.md"});
  }

  void run(const Flags& flags, Console& console) const override {
    const std::vector<MachineCheck> checks = check_machine(machine_of_this_process());
    if (flags.given("--json")) {
      std::vector<std::string_view> names;
      for (const CommandEntry& entry : commands()) names.push_back(entry.name);
      console.out << dump_json(doctor_json(checks, names));
    } else {
      print_doctor(checks, console.out, style_for(console));
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_doctor_command() {
  return std::make_unique<DoctorCommand>();
}

}  // namespace nadi::inline show
