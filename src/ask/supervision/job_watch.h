// How a job is, again and again: what `nadi job watch` is asked.
//
//   JobWatch watch({.jobs = {"log2/10932251"}});
//   const WatchedState state = watch.look();
//   state.progress.iteration, is_healthy(state.findings)
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "nadi/job_files/job_file.h"
#include "nadi/job_health/four_rules.h"
#include "nadi/job_health/job_health.h"
#include "nadi/job_log/job_follower.h"
#include "nadi/supervision/status_poller.h"

namespace nadi::inline ask {

struct WatchedJob;

struct JobWatchQuestion {
  std::vector<std::string> jobs = {};                  // an id, or the folders of one run
  std::filesystem::path outputs = kDefaultJobOutputs;  // where the folders of jobs are
  // What was asked for, for folders of the modified Megatron-LM's scripts; "": what job.json in the folder says.
  std::filesystem::path old_settings = {};
  // How long the first iteration may take; else start_patience() of the job's plan.
  std::optional<std::chrono::seconds> start_patience = {};
  std::chrono::milliseconds interval{2000};  // between two looks
};

// A job as it was at one moment. The watch must outlive it, and the next look changes its log.
struct WatchedState {
  const JobLog& log;
  std::string title = {};  // id and name, or the folder
  std::optional<JobStatus> status = {};
  std::string status_problem = {};  // why the scheduler says nothing, or what it left out
  JobProgress progress = {};
  std::vector<HealthFinding> findings = {};
  std::vector<JobVerdict> verdicts = {};  // of the four rules; empty while logs are read
  bool runs = false;
  std::chrono::sys_seconds now = {};
};

class JobWatch {
 public:
  // Error (usage) for a job that is not known; (input) for a folder without logs that no scheduler knows.
  explicit JobWatch(const JobWatchQuestion& question);

  struct LookOptions {
    std::optional<Nanoseconds> reading = {};     // at most this long; nothing means until all is read
    std::chrono::milliseconds patience{20'000};  // with a scheduler that has not answered yet
    bool last = false;  // no other look follows: lines that have no end yet count, too
  };
  WatchedState look(const LookOptions& options);
  WatchedState look() { return look({.last = true}); }

  bool whole() const { return whole_; }  // all that is there was read
  const std::vector<AskedSetting>& asked() const { return asked_; }
  // Nothing more will come.
  bool has_ended(const WatchedState& state) const;

 private:
  JobWatch(WatchedJob job, const JobWatchQuestion& question);
  void read_timers_of(const NodeLog* node, bool at_once);

  using Clock = std::chrono::steady_clock;
  HealthLimits limits_;
  std::string title_;
  std::vector<AskedSetting> asked_;
  std::string scheduler_problem_;
  bool watched_by_scheduler_;
  StatusPoller poller_;
  JobFollower follower_;
  bool looked_ = false;
  bool whole_ = false;
  std::int64_t newest_line_ = -1;
  std::optional<std::chrono::sys_seconds> progress_seen_;
  std::optional<LoggedIteration> timers_;
  std::optional<Clock::time_point> timers_at_;
};

}  // namespace nadi::inline ask
