// The job that a user means: an id, or the folder of a job.
//
//   const ChosenJob chosen = choose_job("local-20260131-090500-3f2a");
//   const JobStatus status = chosen.scheduler->status(chosen.id);
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "nadi/job_files/job_file.h"
#include "nadi/scheduler/scheduler.h"

namespace nadi::inline ask {

struct ChosenJob {
  std::unique_ptr<Scheduler> scheduler;
  std::string id;
  std::optional<std::filesystem::path> folder = {};  // nothing for a job that was not submitted from here
};

// `outputs` is where the folders of jobs are. An id without a folder is taken for one of Slurm's. Error (usage) for a
// folder that no job of ours left.
ChosenJob choose_job(const std::string& job, const std::filesystem::path& outputs = kDefaultJobOutputs);

}  // namespace nadi::inline ask
