// nadi job list
#include <array>
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/version.h"
#include "nadi/cli/outputs_flag.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/report/jobs_report.h"
#include "nadi/supervision/job_list_question.h"
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
  JobListQuestion question{.which = {.ended = flags.given("--all"),
                                     .user = flags.text("--user").value_or(""),
                                     .every_user = flags.given("--all-users")}};
  const std::string_view scheduler = kSchedulers[flags.choice("--scheduler").value_or(0)];
  if (scheduler != "auto")
    question.scheduler = scheduler == "slurm" ? SchedulerKind::kSlurm : SchedulerKind::kLocal;
  if (flags.given("--outputs")) question.outputs = outputs_flag(flags);
  const JobListAnswer answer = list_jobs(question);
  for (const std::string& note : answer.notes) console.warnings() << format("warning: {}\n", note);
  if (!answer.slurm_problem.empty())
    console.warnings() << format(
        "warning: jobs of Slurm are not shown: {}\n  hint: --scheduler local shows jobs of this machine "
        "alone\n",
        answer.slurm_problem);
  const ReportTable table = jobs_table(answer.jobs);
  if (flags.given("--json"))
    console.out << dump_json(Json{{"nadi_version", version()}, {"jobs", table_json(table)}});
  else if (answer.jobs.empty())
    console.out << (question.which.ended ? "no jobs\n"
                                         : "no jobs that wait or run; --all shows those that have ended\n");
  else
    console.out << table_text(
        table, {.rows = 0, .bold_titles = console.colour_out, .width = table_width(console.out)});
}

}  // namespace nadi::inline show
