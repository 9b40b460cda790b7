// nadi job resume
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
void add_job_resume_flags(Flags& flags) {
  flags.set_positional({.name = "JOB", .help = "an id, or the folder of a job that has ended"});
  flags.toggle("--exclude-failed", "not on nodes that failed under the job");
  flags.value("--exclude", "NODE", "not on this node", "none", {.repeatable = true});
  add_outputs_flag(flags);
  flags.toggle("--json", "print JSON: see docs/json.md");
}

void run_job_resume(const Flags& flags, Console& console) {
  const ChosenJob chosen = choose_job(flags.positional(), outputs_flag(flags));
  if (!chosen.folder)
    throw usage_error(format("there is no folder of job {} in {}", chosen.id, outputs_flag(flags).string()),
                      "--outputs says where the folders of jobs are");
  // A job whose id could not be told does not begin.
  const auto tell = [&](const SubmittedJob& submitted) {
    console.check_interrupted();
    console.warnings() << submitted.said;
    if (flags.given("--json"))
      console.out << dump_json(Json{{"nadi_version", version()},
                                    {"id", submitted.id},
                                    {"resumes", chosen.id},
                                    {"component_ids", submitted.component_ids},
                                    {"folder", submitted.folder.string()}});
    else
      console.out << format("submitted job {}, which goes on with job {}; its folder is {}\n", submitted.id,
                            chosen.id, submitted.folder.string());
    console.out.flush();
  };
  chosen.scheduler->resume(*chosen.folder, {.exclude_failed_nodes = flags.given("--exclude-failed"),
                                            .exclude = flags.texts("--exclude"),
                                            .written = tell});
}

}  // namespace nadi::inline show
