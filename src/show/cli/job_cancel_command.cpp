// nadi job cancel
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/version.h"
#include "nadi/cli/outputs_flag.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/supervision/chosen_job.h"
#include "nadi/terminal/console.h"

namespace nadi::inline show {
void add_job_cancel_flags(Flags& flags) {
  flags.set_positional({.name = "JOB", .help = "ids, or folders of jobs", .many = true});
  add_outputs_flag(flags);
  flags.toggle("--json", "print JSON: see docs/json.md");
}

void run_job_cancel(const Flags& flags, Console& console) {
  Json cancelled = Json::array();
  for (const std::string& job : flags.positionals()) {
    const ChosenJob chosen = choose_job(job, outputs_flag(flags));
    chosen.scheduler->cancel(chosen.id);
    cancelled.push_back(chosen.id);
    if (!flags.given("--json")) console.out << format("cancelled job {}\n", chosen.id);
  }
  if (flags.given("--json"))
    console.out << dump_json(Json{{"nadi_version", version()}, {"cancelled", cancelled}});
}

}  // namespace nadi::inline show
