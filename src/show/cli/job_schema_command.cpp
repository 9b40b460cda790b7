// nadi job schema
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/job_files/job_file.h"
#include "nadi/job_files/job_variables.h"
#include "nadi/tables/report_table.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/output_width.h"
#include "nadi/terminal/wrapping_buffer.h"

namespace nadi::inline show {
namespace {

ReportTable variables_table() {
  ReportTable table{.name = "variables",
                    .title = "Variables of a job",
                    .columns = {{"name", "name", CellKind::kText}, {"meaning", "meaning", CellKind::kText}}};
  for (const JobVariable& variable : job_variables())
    table.rows.push_back({std::string(variable.name), std::string(variable.meaning)});
  return table;
}

}  // namespace

void add_job_schema_flags(Flags& flags) {
  flags.toggle("--variables", "list what ${NAME} may stand for in words of a job, instead of the schema");
}

void run_job_schema(const Flags& flags, Console& console) {
  if (flags.given("--variables"))
    console.out << table_text(
        variables_table(), {.rows = 0, .bold_titles = console.colour_out, .width = table_width(console.out)});
  else
    print_verbatim(console.out, job_schema());
}

}  // namespace nadi::inline show
