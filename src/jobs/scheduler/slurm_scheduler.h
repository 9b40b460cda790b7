// Jobs on a cluster with Slurm.
//
//   SlurmScheduler scheduler(SlurmClient(), {.outputs = "jobs"});
//   const SubmittedJob submitted = scheduler.submit(job, {});
//
// However many jobs there are, list() asks twice (squeue and sacct) and status() at most four times.
#pragma once

#include "nadi/scheduler/scheduler.h"
#include "nadi/scheduler/slurm_client.h"

namespace nadi::inline jobs {

class SlurmScheduler : public Scheduler {
 public:
  SlurmScheduler(SlurmClient client, SchedulerOptions options)
      : client_(std::move(client)), outputs_(std::move(options.outputs)) {}

  SchedulerKind kind() const override { return SchedulerKind::kSlurm; }
  SubmittedJob submit(const JobFile& job, const SubmitOptions& options) override;
  std::vector<JobStatus> list(const ListOptions& options) override;
  // The runs of an array are components.
  JobStatus status(const std::string& id) override;
  // Rows of Slurm that could not be read, and parts of a job that its accounts do not have yet.
  std::vector<std::string> notes() const override { return notes_; }
  // Error (usage) for a job that has ended.
  void cancel(const std::string& id) override;
  SubmittedJob resume(const std::filesystem::path& folder, const ResumeOptions& options) override;
  std::vector<SchedulerNode> nodes() override { return client_.nodes(); }

 private:
  // The ids that one job of ours has in Slurm: several where groups of nodes are jobs of their own.
  std::vector<std::string> ids_of(const std::string& id) const;
  // Cancels jobs that were just submitted. What became of each, to be added to an error: "; job 12 is
  // cancelled".
  std::string take_back(const std::vector<std::string>& ids);
  std::vector<std::string> failed_nodes(const JobStatus& job, const std::vector<JobStatus>& runs);
  void note_unread(std::string_view program, const SlurmRows& rows);
  void note_missing_parts(const JobStatus& job);

  SlurmClient client_;
  std::vector<std::string> notes_;
  std::filesystem::path outputs_;
};

}  // namespace nadi::inline jobs
