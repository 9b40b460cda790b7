// This machine as a scheduler: a job is a script in the background (local_script.h), its folder is all that
// is known about it. Ids are unique on the machine: local-20260131-090500-3f2a.
#pragma once

#include "nadi/scheduler/scheduler.h"

namespace nadi::inline jobs {

class LocalScheduler : public Scheduler {
 public:
  explicit LocalScheduler(SchedulerOptions options) : options_(std::move(options)) {}

  SchedulerKind kind() const override { return SchedulerKind::kLocal; }
  SubmittedJob submit(const JobFile& job, const SubmitOptions& options) override;
  std::vector<JobStatus> list(const ListOptions& options) override;
  JobStatus status(const std::string& id) override;
  // The ranks get SIGTERM, and SIGKILL half a minute later.
  void cancel(const std::string& id) override;
  SubmittedJob resume(const std::filesystem::path& folder, const ResumeOptions& options) override;
  std::vector<SchedulerNode> nodes() override;

 private:
  SchedulerOptions options_;
};

}  // namespace nadi::inline jobs
