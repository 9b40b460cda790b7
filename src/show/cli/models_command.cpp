// nadi models
#include <memory>
#include <ostream>

#include "nadi/base/json.h"
#include "nadi/base/version.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/model/catalogue.h"
#include "nadi/report/models_table.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/output_width.h"

namespace nadi::inline show {
namespace {

class ModelsCommand : public Command {
 public:
  void add_flags(Flags& flags) const override {
    flags.add({.names = {"--json"}, .help = "print JSON: see docs/json.md"});
  }

  void run(const Flags& flags, Console& console) const override {
    const ReportTable table = models_table(built_in_models());
    if (flags.given("--json"))
      console.out << dump_json(Json{{"nadi_version", version()}, {"models", table_json(table)}});
    else
      console.out << table_text(table, {.rows = 0,
                                        .bold_titles = console.colour_out,
                                        .width = table_width(console.out),
                                        .wide = "--json has all"});
  }
};

}  // namespace

std::unique_ptr<Command> make_models_command() {
  return std::make_unique<ModelsCommand>();
}

}  // namespace nadi::inline show
