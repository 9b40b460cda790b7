// Is a job well? Rules over what was observed, each with its evidence.
//
//   const std::vector<HealthFinding> findings = job_findings({.log = follower.log(), .status = status, .asked
//   = asked, .now = now}); const bool well = is_healthy(findings);
//
// Rules know what is normal: warnings on stderr that speak of errors, slow first iterations, pauses for
// evaluation and checkpoints, spikes of a loss, GPUs that are idle for a moment, GPUs at their power limit.
// docs/jobs.md lists the rules with their limits.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "nadi/job_health/finding.h"
#include "nadi/job_log/job_log.h"
#include "nadi/job_log/setting_comparison.h"
#include "nadi/scheduler/scheduler.h"

namespace nadi::inline jobs {

struct HealthLimits {
  double stall_factor = 10;  // no progress for so many times the usual time between two lines ...
  std::chrono::seconds least_stall{120};  // ... and at least so long
  // Until the first iteration GPUs may be idle and progress missing; so long a checkpoint or an evaluation
  // may take that the log tells of.
  std::chrono::seconds startup{600};
  std::chrono::seconds idle_time{60};  // GPUs are idle for longer
  double idle_percent = 5;
  double hot_degrees = 87;  // below where data-centre GPUs lower their clocks
  double memory_share = 0.98;
  // Without a scheduler: a folder in which nothing was written for so long is that of a job that has ended.
  std::chrono::seconds history{86400};
  double slow_factor = 1.2;  // of the median of nodes with the same work
};

// The time until the first iteration that fits a job whose plan predicts so long a step: the default, or what
// kStartSteps steps take where that is longer.
inline constexpr int kStartSteps = 20;
std::chrono::seconds start_patience(std::optional<Nanoseconds> predicted_step);

struct JobObservation {
  const JobLog& log;
  std::optional<JobStatus> status = {};  // nothing means no scheduler knows it
  std::vector<AskedSetting> asked = {};
  std::chrono::sys_seconds now = {};
  // When somebody who watches saw the newest line of an iteration come; nothing means it was there before.
  std::optional<std::chrono::sys_seconds> progress_seen = {};
  // Timers of the newest iteration that has them (read_timers), for the rule of slow nodes.
  std::optional<LoggedIteration> timers = {};
};

// Problems first, then warnings, then notes; within these in the order of the rules.
std::vector<HealthFinding> job_findings(const JobObservation& observation, const HealthLimits& limits = {});

// No finding is a problem.
bool is_healthy(const std::vector<HealthFinding>& findings);

// How far the job is.
struct JobProgress {
  std::int64_t iteration = 0, iterations = 0;      // 0 means none yet
  std::optional<Nanoseconds> iteration_time = {};  // the steady one, as the report has it
  std::optional<Nanoseconds> left = {};            // of the run, by the usual time
  std::optional<double> loss = {};
  std::optional<double> tflops_per_rank = {}, tokens_per_second = {};
  std::optional<std::chrono::sys_seconds> last_seen = {};  // the newest line of an iteration came about then
  bool done = false;                                       // all iterations, by the log
  // The newest trace of the job, HealthLimits::history ago or more: it has ended, and neither a scheduler nor
  // the log says how.
  std::optional<std::chrono::sys_seconds> ended_about = {};
};
JobProgress progress_of(const JobObservation& observation, const HealthLimits& limits = {});

// When something was last written: the newest file's age. Copies of files are younger than what is in them:
// where each date in the files is a day or more behind its file, the newest date.
std::optional<std::chrono::sys_seconds> last_activity(const JobLog& log);

// Whether the job runs: by the scheduler, or, where there is none, by what was written a moment ago.
bool runs_now(const JobObservation& observation);

// What a job file asks for, in the names that nodes print (WORLD_SIZE, NNODES, arguments of Megatron-LM).
std::vector<AskedSetting> asked_settings(const JobFile& job);
// What the settings file of the modified Megatron-LM asks for: every KEY=value of it, and WORLD_SIZE, which
// follows from NNODES and NPROC_PER_NODE. Errors as read_old_settings_file() has them.
std::vector<AskedSetting> asked_settings(const std::filesystem::path& old_settings);

}  // namespace nadi::inline jobs
