// nadi job submit
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <ostream>
#include <thread>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cli/commands.h"
#include "nadi/cli/finished_run.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/job_files/job_file.h"
#include "nadi/job_files/old_settings.h"
#include "nadi/megatron/planned_job.h"
#include "nadi/model/config_file.h"
#include "nadi/process/find_program.h"
#include "nadi/report/job_failure.h"
#include "nadi/report/submitted_job_report.h"
#include "nadi/scheduler/scheduler.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/output_stream.h"
#include "nadi/terminal/wrapping_buffer.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;

// The steps of --nsys, --ncu and --trace.
std::optional<ProfilerUse> profiler_of(const Flags& flags, std::string_view flag,
                                       std::vector<std::int64_t> ranks) {
  const auto text = flags.text(flag);
  if (!text) return std::nullopt;
  ProfilerUse use{.steps = {}, .ranks = std::move(ranks)};
  if (*text == "all" && flag != "--trace") return use;
  use.steps = parse_step_range(*text);
  if (!use.steps)
    throw usage_error(format("{} takes steps, not '{}'", flag, *text), "10, or 10-12; the first step is 1");
  return use;
}

void take_profilers(const Flags& flags, JobFile& job) {
  if (auto use = profiler_of(flags, "--nsys", {})) job.profile.nsys = std::move(use);
  if (auto use = profiler_of(flags, "--ncu", {0})) job.profile.ncu = std::move(use);
  if (auto use = profiler_of(flags, "--trace", {})) job.profile.trace = std::move(use);
}

// The hint of a library does not name flags.
OldSettings old_settings(const fs::path& from, const std::vector<fs::path>& scripts) {
  try {
    return read_old_settings(from, scripts);
  } catch (const Error& error) {
    if (error.hint().find("two scripts") == std::string::npos) throw;
    throw Error(error.kind(), error.place(), error.message(),
                error.hint() + ": --script _02_hetero_master_job.sh --script _02_hetero_slave_job.sh");
  }
}

JobFile read_job(const Flags& flags, Console& console) {
  const auto from = flags.text("--from");
  const std::vector<std::string> scripts = flags.texts("--script");
  if (!from) {
    if (!scripts.empty())
      throw usage_error(
          format("--script {} needs --from: the settings file that the script reads", scripts[0]),
          format("--from _00_conf.sh --script {}", scripts[0]));
    if (!flags.has_positional())
      throw usage_error("no job", "nadi job submit job.json; 'nadi job init' writes one to begin with");
    return read_job_file(flags.positional(), {.set = flags.texts("--set")});
  }
  if (flags.has_positional())
    throw usage_error(format("{} and --from {} contradict each other", flags.positional(), *from));
  const OldSettings old = old_settings(*from, {scripts.begin(), scripts.end()});
  for (const std::string& note : old.notes) console.info() << "note: " << note << "\n";
  if (flags.texts("--set").empty()) return old.job;
  return parse_job_file(job_file_text(old.job), *from, {.set = flags.texts("--set")});
}

// The name of a model that nobody knows. A path is known to the nodes, and anything to a container.
void check_model_name(const Flags& train, const JobFile& job) {
  if (!train.has_positional() || job.container.kind != ContainerKind::kNone) return;
  const std::string& model = train.positional();
  if (model.find('/') != std::string::npos || fs::exists(job.run.folder / model)) return;
  load_model_config(model);
}

// A mistake in the words of `nadi train` is said now and not on the cluster, hours later.
void check_train_words(const JobFile& job) {
  if (job.run.kind != JobRunKind::kTrain) return;
  for (const std::string& word : job.run.words)
    if (word.find("${") != std::string::npos) return;
  Flags flags;
  const CommandEntry& entry = commands().at(std::vector<std::string>{"train"});
  entry.add_flags(flags);
  try {
    flags.parse(job.run.words);
    check_model_name(flags, job);
  } catch (const Error& error) {
    throw Error(error.kind(), error.place(), format("run.train: {}", error.message()),
                error.hint().empty() ? "see 'nadi train --help'" : error.hint());
  }
  refuse_finished_run(job, flags);
}

JobFile resolve(const Flags& flags, Console& console) {
  JobFile job = read_job(flags, console);
  if (const auto plan = flags.text("--plan")) job.plan = fs::absolute(*plan).lexically_normal();
  if (const auto restarts = flags.integer("--max-restarts", 0)) job.requeue.max_restarts = *restarts;
  take_profilers(flags, job);
  if (!job.plan.empty()) {
    const PlannedJobNotes said = follow_plan(job);
    for (const std::string& note : said.notes) console.info() << "note: " << note << "\n";
    for (const std::string& problem : said.problems) console.warnings() << "warning: " << problem << "\n";
  }
  if (job.run.folder.empty()) job.run.folder = fs::current_path();
  check_train_words(job);
  if (job.run.kind == JobRunKind::kTrain && job.run.program.empty() &&
      job.container.kind == ContainerKind::kNone)
    job.run.program = own_program().string();
  check_job(job);
  for (const std::string& text : lost_steps_of(job)) console.warnings() << "warning: " << text << "\n";
  return job;
}

void wait_for_end(Scheduler& scheduler, const SubmittedJob& submitted, Console& console) {
  JobStatus status = scheduler.status(submitted.id);
  while (!has_ended(status.state)) {
    if (console.interrupted()) {
      console.info() << format("note: job {} runs on; 'nadi job cancel {}' ends it\n", submitted.id,
                               submitted.id);
      throw Interrupted{};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    status = scheduler.status(submitted.id);
  }
  if (status.state == JobState::kDone) return;
  console.err << failure_text(submitted, status);
  throw SaidFailure{status.exit_code.value_or(1) == 0 ? 1 : status.exit_code.value_or(1)};
}

}  // namespace

void add_job_submit_flags(Flags& flags) {
  flags.set_positional(
      {.name = "FILE", .help = "a job file: see docs/jobs.md", .fallback = "required without --from"});
  flags.toggle("--dry-run", "print the script that would run, and submit nothing");
  flags.value("--set", "KEY=VALUE",
              "in place of what the job file says: nodes=8, requeue.max_restarts=3, groups.1.nodes=2; "
              "run.train.max-steps=8 is a flag of 'nadi train'",
              "none", {.repeatable = true});
  flags.value("--plan", "FILE",
              "a plan of 'nadi plan --emit': ranks and nodes follow it, and flags of Megatron-LM; two "
              "kinds of nodes are one heterogeneous job",
              "that of the job file");
  flags.value("--max-restarts", "N", "queue the job again at most N times", "that of the job file");
  flags.toggle("--wait", "local jobs: wait until it has ended, and end with its exit code");
  flags.toggle("--json", "print JSON: see docs/json.md");
  FlagHeading modified(flags, "the modified Megatron-LM");
  modified.value("--from", "FILE",
                 "in place of a job file: the settings file of the modified Megatron-LM, lines KEY=value",
                 "none");
  modified.value("--script", "FILE",
                 "its script for sbatch: lines #SBATCH; twice for master and slaves, two groups of one job",
                 "none", {.repeatable = true});
  FlagHeading profilers(flags, "profilers");
  profilers.value("--nsys", "STEPS",
                  "profile steps with Nsight Systems, a file for each rank in nsys/: 10-12, or all",
                  "that of the job file");
  profilers.value("--ncu", "STEPS", "profile steps of rank 0 with Nsight Compute, in ncu/: 10, or all",
                  "that of the job file");
  profilers.value("--trace", "STEPS", "record steps as traces, in trace/: 10-12", "that of the job file");
  flags.show_first({"--dry-run", "--set", "--plan", "--json"});
}

void run_job_submit(const Flags& flags, Console& console) {
  const JobFile job = resolve(flags, console);
  if (flags.given("--wait") && job.scheduler != SchedulerKind::kLocal)
    throw usage_error("--wait is for local jobs", "nadi job watch JOB");
  if (flags.given("--dry-run")) return print_dry_run(job, flags.given("--json"), console);
  const auto scheduler = make_scheduler(job.scheduler, {.outputs = job.outputs});
  // A job whose id could not be told, or that is not wanted any more, does not begin.
  const auto tell = [&](const SubmittedJob& written) {
    console.check_interrupted();
    if (!written.said.empty()) console.warnings() << written.said << "\n";
    try {
      print_submitted(job, written, flags.given("--json"), console);
      console.out.flush();
    } catch (const ClosedPipe&) {
      return;  // nobody wants to know
    }
  };
  const SubmittedJob submitted = scheduler->submit(job, {.written = tell});
  if (flags.given("--wait")) wait_for_end(*scheduler, submitted, console);
}

}  // namespace nadi::inline show
