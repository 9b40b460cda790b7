// nadi job list
#include <array>
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/version.h"
#include "nadi/cli/chosen_job.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/report/jobs_report.h"
#include "nadi/scheduler/job_folder.h"
#include "nadi/scheduler/slurm_client.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/output_width.h"

namespace nadi::inline show {
namespace {

constexpr std::array<std::string_view, 3> kSchedulers{"auto", "slurm", "local"};

}  // namespace

void add_job_list_flags(Flags& flags) {
  flags.toggle("--all", "also jobs that have ended, as far back as a week");
  flags.toggle("--all-users", "also jobs of other users");
  flags.value("--user", "NAME", "jobs of this user", "you");
  flags.value("--scheduler", "NAME",
              "whose jobs; auto: those of this machine, and of Slurm where it is installed", "auto",
              {.choices = {kSchedulers.begin(), kSchedulers.end()}});
  add_outputs_flag(flags);
  flags.toggle("--json", "print JSON: see docs/json.md");
}

void run_job_list(const Flags& flags, Console& console) {
  const ListOptions options{.ended = flags.given("--all"),
                            .user = flags.text("--user").value_or(""),
                            .every_user = flags.given("--all-users")};
  const std::string_view scheduler = kSchedulers[flags.choice("--scheduler").value_or(0)];
  const SchedulerOptions where{.outputs = outputs_flag(flags), .everywhere = !flags.given("--outputs")};
  std::vector<JobStatus> jobs;
  if (scheduler != "slurm") jobs = make_scheduler(SchedulerKind::kLocal, where)->list(options);
  if (scheduler == "slurm" || (scheduler == "auto" && SlurmClient::is_there())) {
    try {
      const auto slurm = make_scheduler(SchedulerKind::kSlurm, where);
      for (JobStatus& job : slurm->list(options)) jobs.push_back(std::move(job));
      for (const std::string& note : slurm->notes()) console.warnings() << format("warning: {}\n", note);
    } catch (const Error& error) {
      // Slurm's commands may be installed where no Slurm is; jobs of this machine are no reason to fail
      // then.
      if (scheduler == "slurm") throw;
      console.warnings() << format("warning: jobs of Slurm are not shown: {}\n  hint: {}\n", error.what(),
                                   "--scheduler local shows jobs of this machine alone");
    }
  }
  const ReportTable table = jobs_table(jobs);
  if (flags.given("--json"))
    console.out << dump_json(Json{{"nadi_version", version()}, {"jobs", table_json(table)}});
  else if (jobs.empty())
    console.out << (options.ended ? "no jobs\n"
                                  : "no jobs that wait or run; --all shows those that have ended\n");
  else
    console.out << table_text(
        table, {.rows = 0, .bold_titles = console.colour_out, .width = table_width(console.out)});
}

}  // namespace nadi::inline show
