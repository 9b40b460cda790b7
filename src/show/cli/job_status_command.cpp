// nadi job status
#include <chrono>
#include <ostream>

#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/version.h"
#include "nadi/cli/outputs_flag.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/report/jobs_report.h"
#include "nadi/supervision/chosen_job.h"
#include "nadi/terminal/console.h"

namespace nadi::inline show {
void add_job_status_flags(Flags& flags) {
  flags.set_positional({.name = "JOB", .help = "an id, or the folder of a job"});
  add_outputs_flag(flags);
  flags.toggle("--json", "print JSON: see docs/json.md");
}

void run_job_status(const Flags& flags, Console& console) {
  const ChosenJob chosen = choose_job(flags.positional(), outputs_flag(flags));
  JobStatus job = chosen.scheduler->status(chosen.id);
  for (const std::string& note : chosen.scheduler->notes())
    console.warnings() << format("warning: {}\n", note);
  if (job.folder.empty() && chosen.folder) job.folder = *chosen.folder;
  if (flags.given("--json")) {
    Json root = job_json(job);
    root["nadi_version"] = version();
    console.out << dump_json(root);
  } else {
    const auto now = std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
    console.out << job_text(job, now, style_for(console));
  }
  // For scripts that wait: a job that ended, and not well.
  if (has_ended(job.state) && job.state != JobState::kDone) throw SaidFailure{};
}

}  // namespace nadi::inline show
