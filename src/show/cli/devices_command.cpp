// nadi devices
#include <memory>
#include <ostream>

#include "nadi/base/json.h"
#include "nadi/cli/wide_flag.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/report/devices_report.h"
#include "nadi/terminal/console.h"

namespace nadi::inline show {
namespace {

class DevicesCommand : public Command {
 public:
  void add_flags(Flags& flags) const override {
    add_wide_flag(flags);
    flags.add({.names = {"--json"}, .help = "print JSON: see docs/json.md"});
  }

  void run(const Flags& flags, Console& console) const override {
    const DevicesView view = look_for_devices();
    if (flags.given("--json"))
      console.out << dump_json(devices_json(view));
    else
      print_wide_or_not(flags, console,
                        [&](const ReportStyle& style) { print_devices(view, console.out, style); });
  }
};

}  // namespace

std::unique_ptr<Command> make_devices_command() {
  return std::make_unique<DevicesCommand>();
}

}  // namespace nadi::inline show
