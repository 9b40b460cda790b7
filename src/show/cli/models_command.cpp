// nadi models
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
void add_models_flags(Flags& flags) {
  flags.toggle("--json", "print JSON: see docs/json.md");
}

void run_models(const Flags& flags, Console& console) {
  const ReportTable table = models_table(built_in_models());
  if (flags.given("--json"))
    console.out << dump_json(Json{{"nadi_version", version()}, {"models", table_json(table)}});
  else
    console.out << table_text(table, {.rows = 0,
                                      .bold_titles = console.colour_out,
                                      .width = table_width(console.out),
                                      .wide = "--json has all"});
}

}  // namespace nadi::inline show
