#include "nadi/job_files/job_file.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "nadi/base/embedded_file.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/job_files/job_variables.h"
#include "nadi/shell/shell_quote.h"

namespace nadi::inline jobs {

std::span<const EmbeddedFile> job_share_files();

namespace {

// MaxArraySize of Slurm is 1001 unless its administrator changes it.
constexpr std::int64_t kMostRuns = 1000;
// sbatch keeps the time of --signal in 16 bits.
constexpr std::chrono::seconds kMostBeforeEnd{65535};

void check_names(const JobFile& job) {
  std::set<std::string> seen;
  const auto once = [&](const std::string& name) {
    if (!seen.insert(name).second)
      throw usage_error(format("the variable '{}' is given twice", name),
                        "sweep.values, environment.set and environment.pass share their names");
  };
  for (const auto& [name, values] : job.sweep.values) once(name);
  for (const auto& [name, value] : job.environment.set) once(name);
  for (const std::string& name : job.environment.pass) once(name);
}

void check_groups(const JobFile& job) {
  std::int64_t ranks = 0;
  for (const JobNodes& group : job.groups) ranks += group.ranks();
  constexpr std::int64_t kMostRanks = 1 << 20;
  if (ranks > kMostRanks) throw usage_error(format("a job of {} ranks; the limit is {}", ranks, kMostRanks));
  if (job.groups.size() == 1) return;
  if (job.scheduler == SchedulerKind::kLocal)
    throw usage_error(format("{} groups of nodes, and the local scheduler has one node", job.groups.size()),
                      "\"scheduler\": \"slurm\"");
  if (!job.sweep.values.empty())
    throw usage_error("a sweep over a job of several groups: Slurm has no arrays of heterogeneous jobs",
                      "submit it once for each value: --set");
  if (job.mixing == JobMixing::kJobs && job.run.kind == JobRunKind::kTrain)
    throw usage_error("'train' runs as one job, and \"mixing\" is \"jobs\"",
                      "ranks of several jobs can meet at ${MASTER_ADDR} only: megatron, or a command");
  if (job.mixing == JobMixing::kJobs && job.requeue != JobRequeue{})
    throw usage_error("several jobs cannot be queued again as one", "\"mixing\": \"one-job\", or no requeue");
}

void check_processes(const JobFile& job) {
  if (job.processes == JobProcesses::kNodes && job.run.kind != JobRunKind::kCommand)
    throw usage_error(
        format("\"processes\": \"nodes\" is for commands that start their ranks, as torchrun; "
               "'{}' is started for each rank",
               to_string(job.run.kind)));
  if (job.scheduler == SchedulerKind::kLocal && job.container.kind == ContainerKind::kPyxis)
    throw usage_error("pyxis is a part of Slurm; the local scheduler does not have it",
                      "enroot, apptainer or docker");
  if (job.container.kind != ContainerKind::kNone && job.container.image.empty())
    throw usage_error(format("the container '{}' has no image", to_string(job.container.kind)),
                      "\"container\": {\"kind\": ..., \"image\": ...}");
  if (job.container.kind == ContainerKind::kNone &&
      (!job.container.image.empty() || !job.container.mounts.empty() || !job.container.folder.empty()))
    throw usage_error("an image, mounts or a folder of no container", "say which \"kind\" of container");
  for (const std::string& mount : job.container.mounts)
    if (mount.find(':') == std::string::npos || mount.find(',') != std::string::npos ||
        mount.find('\n') != std::string::npos)
      throw usage_error(format("the mount {} is not SRC:DST or SRC:DST:ro", quote_for_message(mount)),
                        "commas and newlines are for no runtime");
  if (job.container.kind == ContainerKind::kNone) return;
  if (job.outputs.string().find_first_of(":,") != std::string::npos)
    throw usage_error(format("the folder {} has a colon or a comma and cannot be mounted into a container",
                             quote_for_message(job.outputs.string())),
                      "another folder of \"outputs\"");
  // Ranks that do not see one another would train alone, each of them the whole model.
  const bool sees_pmix =
      job.container.kind == ContainerKind::kPyxis || job.container.kind == ContainerKind::kApptainer;
  if (job.scheduler == SchedulerKind::kSlurm && job.run.kind == JobRunKind::kTrain && job.ranks() > 1 &&
      !sees_pmix)
    throw usage_error(format("'train' on {} ranks in containers of {}: the ranks find one another through "
                             "PMIx, which does not reach into these",
                             job.ranks(), to_string(job.container.kind)),
                      "pyxis or apptainer");
}

void check_profile(const JobFile& job) {
  const auto ranks_exist = [&](std::string_view what, const std::optional<ProfilerUse>& use) {
    if (!use) return;
    for (const std::int64_t rank : use->ranks)
      if (rank >= job.ranks())
        throw usage_error(format("{} of rank {}, and the job has {} ranks", what, rank, job.ranks()));
    if (job.processes == JobProcesses::kNodes && !use->ranks.empty())
      throw usage_error(format("{} of some ranks, and the job's processes are nodes", what),
                        "\"ranks\": \"all\"");
  };
  ranks_exist("nsys", job.profile.nsys);
  ranks_exist("ncu", job.profile.ncu);
  ranks_exist("trace", job.profile.trace);
  if (job.profile.nsys && job.profile.ncu)
    throw usage_error("nsys and ncu cannot profile the same run", "one of them");
  if (job.profile.trace && job.run.kind == JobRunKind::kCommand)
    throw usage_error("only 'train' and 'megatron' can be traced", "nsys profiles any command");
  if (job.profile.trace && (job.profile.nsys || job.profile.ncu))
    throw usage_error("a trace and a profiler would disturb each other", "one of them");
  if (job.profile.trace && !job.profile.trace->steps)
    throw usage_error("a trace of all steps", "name a few: \"steps\": \"10-12\"");
}

void check_requeue(const JobFile& job) {
  const JobRequeue& requeue = job.requeue;
  if (requeue.before_end.count() > 0 && !job.time)
    throw usage_error("'requeue.before_end' without 'time': nobody knows when the end is",
                      "\"time\": \"2:00:00\"");
  if (job.time && requeue.before_end >= *job.time)
    throw usage_error(format("'requeue.before_end' is {} s, and the whole time {} s",
                             requeue.before_end.count(), job.time->count()));
  if (requeue.before_end > kMostBeforeEnd)
    throw usage_error(format("'requeue.before_end' is {} s; the limit is {} s", requeue.before_end.count(),
                             kMostBeforeEnd.count()));
  if ((requeue.on_failure || requeue.exclude_failed_nodes) && requeue.max_restarts == 0)
    throw usage_error("'requeue' says what happens at a restart, and 'max_restarts' is 0");
}

void check_sweep(const JobFile& job) {
  if (job.sweep.runs() > kMostRuns)
    throw usage_error(format("a sweep of {} runs; the limit is {}", job.sweep.runs(), kMostRuns));
}

// Everything that reaches a line for sbatch; words of options, too, which begin with dashes.
void check_lines(const JobFile& job) {
  for (const std::string& option : job.options) {
    if (!option.starts_with("-"))
      throw usage_error(format("{} is no option of sbatch", quote_for_message(option)), "--name=value");
    sbatch_quote(option, "an option");
  }
  sbatch_quote(job.name, "the name");
  if (job.name.empty()) throw usage_error("the job has an empty name");
  if (job.run.words.empty()) throw usage_error("the job runs nothing");
}

}  // namespace

std::string_view to_string(SchedulerKind kind) {
  switch (kind) {
    case SchedulerKind::kSlurm:
      return "slurm";
    case SchedulerKind::kLocal:
      return "local";
  }
  unreachable();
}

std::string_view to_string(JobRunKind kind) {
  switch (kind) {
    case JobRunKind::kTrain:
      return "train";
    case JobRunKind::kMegatron:
      return "megatron";
    case JobRunKind::kCommand:
      return "command";
  }
  unreachable();
}

std::string_view to_string(JobProcesses processes) {
  switch (processes) {
    case JobProcesses::kRanks:
      return "ranks";
    case JobProcesses::kNodes:
      return "nodes";
  }
  unreachable();
}

std::string_view to_string(JobMixing mixing) {
  switch (mixing) {
    case JobMixing::kOneJob:
      return "one-job";
    case JobMixing::kJobs:
      return "jobs";
  }
  unreachable();
}

std::string_view to_string(ContainerKind kind) {
  switch (kind) {
    case ContainerKind::kNone:
      return "none";
    case ContainerKind::kPyxis:
      return "pyxis";
    case ContainerKind::kEnroot:
      return "enroot";
    case ContainerKind::kApptainer:
      return "apptainer";
    case ContainerKind::kDocker:
      return "docker";
  }
  unreachable();
}

std::int64_t JobSweep::runs() const {
  std::int64_t product = 1;
  for (const auto& [name, list] : values)
    if (__builtin_mul_overflow(product, std::ssize(list), &product))
      return std::numeric_limits<std::int64_t>::max();
  return product;
}

std::int64_t JobFile::nodes() const {
  return std::accumulate(groups.begin(), groups.end(), std::int64_t{0},
                         [](std::int64_t sum, const JobNodes& group) { return sum + group.nodes; });
}

std::int64_t JobFile::ranks() const {
  return std::accumulate(groups.begin(), groups.end(), std::int64_t{0},
                         [](std::int64_t sum, const JobNodes& group) { return sum + group.ranks(); });
}

void check_job(const JobFile& job) {
  check_lines(job);
  check_names(job);
  check_groups(job);
  check_processes(job);
  check_profile(job);
  check_requeue(job);
  check_sweep(job);
  for (const std::string& word : job.run.words) word_parts(word, job);
}

std::string_view job_schema() {
  return embedded_text(job_share_files(), "job.schema");
}

}  // namespace nadi::inline jobs
