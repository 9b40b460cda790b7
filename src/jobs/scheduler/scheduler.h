// Who runs jobs: Slurm, or this machine.
//
//   const auto scheduler = make_scheduler(job.scheduler, {.outputs = job.outputs});
//   const SubmittedJob submitted = scheduler->submit(job, {});
//   for (const JobStatus& status : scheduler->list({})) ...
//   scheduler->cancel(submitted.id);
//
// What a scheduler cannot do for a lack of its programs is Error (environment); an id that nobody knows is
// Error (usage).
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/job_files/job_file.h"
#include "nadi/job_log/rank_death.h"

namespace nadi::inline jobs {

enum class JobState : std::uint8_t {
  kPending,
  kRunning,
  kSuspended,
  kEnding,  // completing: its processes or its epilog are still there
  kDone,    // ended with exit code 0
  kFailed,
  kCancelled,
  kTimedOut,
  kOutOfMemory,
  kNodeFailed,
  kPreempted,
  kUnknown,  // the scheduler has forgotten it, or says something new
};
std::string_view to_string(JobState state);  // "pending", "running", ...
bool has_ended(JobState state);              // from kDone on, except for kUnknown

using JobTime = std::chrono::sys_seconds;

struct JobStatus {
  std::string id;           // of the leader; "12_3" for a run of an array
  std::string number = {};  // by which Slurm tells rows apart: 13 for the second component of job 12
  std::string name = {};
  JobState state = JobState::kUnknown;
  std::string said = {};    // the state as the scheduler says it: "CANCELLED by 0"
  std::string reason = {};  // why it waits or ended: "Resources", "NonZeroExitCode"
  std::optional<int> exit_code = {};
  std::optional<int> signal = {};
  std::optional<JobTime> submitted = {};
  std::optional<JobTime> started = {};  // for kPending: expected
  std::optional<JobTime> ended = {};
  std::chrono::seconds elapsed{0};  // since its last start
  std::optional<std::chrono::seconds> limit = {};
  std::vector<std::string> nodes = {};
  std::vector<std::string> failed_nodes = {};  // that failed under it
  std::optional<RankDeath> death = {};         // by status(), of a job that failed
  std::string partition = {};
  std::string user = {};
  std::int64_t restarts = 0;
  std::filesystem::path folder = {};       // of its logs; "": not one of ours
  std::vector<JobStatus> components = {};  // of a heterogeneous job, or of several jobs that are one
};

struct SubmittedJob {
  std::string id;
  SchedulerKind scheduler = SchedulerKind::kSlurm;
  std::string sweep = {};                       // of a run of a sweep, "12_3": the sweep's, "12"
  std::vector<std::string> component_ids = {};  // "12+0", "12+1", or ids of several jobs; empty means one
  std::filesystem::path folder = {};            // FOLDER/<id>
  JobTime time = {};
  std::string said = {};  // warnings of the scheduler's programs, to be shown
};

struct SchedulerNode {
  std::string name;
  std::vector<std::string> partitions = {};
  std::string state = {};  // "idle", "down*"
  std::int64_t cpus = 0;
  std::optional<Bytes> memory = {};
  std::int64_t gpus = 0;
  std::string gpu_type = {};  // "a10"; "" where Slurm does not know
  std::vector<std::string> features = {};
};

struct SubmitOptions {
  bool wait = false;  // local: until it has ended
  // When everything is written and nothing has begun; an exception ends the job before it begins.
  std::function<void(const SubmittedJob&)> written = {};
};

struct ListOptions {
  bool ended = false;     // also jobs that have ended, as far as the scheduler remembers
  std::string user = {};  // "": this one
  bool every_user = false;
};

struct ResumeOptions {
  bool exclude_failed_nodes = false;
  std::vector<std::string> exclude = {};                  // names of nodes
  std::function<void(const SubmittedJob&)> written = {};  // as SubmitOptions has it
};

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  virtual SchedulerKind kind() const = 0;
  // All or nothing: the job begins when all of its files are there. An Error leaves neither a job nor a
  // folder, or says which job could not be taken back.
  virtual SubmittedJob submit(const JobFile& job, const SubmitOptions& options) = 0;
  virtual std::vector<JobStatus> list(const ListOptions& options) = 0;
  virtual JobStatus status(const std::string& id) = 0;
  // What the last list() or status() could not say, in sentences for the user; empty when it said all.
  virtual std::vector<std::string> notes() const { return {}; }
  virtual void cancel(const std::string& id) = 0;
  // Submits the job of a folder again; the new one continues where the old one saved.
  virtual SubmittedJob resume(const std::filesystem::path& folder, const ResumeOptions& options) = 0;
  virtual std::vector<SchedulerNode> nodes() = 0;
};

struct SchedulerOptions {
  std::filesystem::path outputs;  // the folder of job folders
  bool everywhere = false;        // local jobs are listed wherever on this machine their folders are
};
std::unique_ptr<Scheduler> make_scheduler(SchedulerKind kind, const SchedulerOptions& options);

}  // namespace nadi::inline jobs
