// The job that a user means by JOB on the command line: an id, or the folder of a job.
//
//   add_outputs_flag(flags);
//   const ChosenJob chosen = choose_job(flags.positional(), outputs_flag(flags));
//   const JobStatus status = chosen.scheduler->status(chosen.id);
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "nadi/scheduler/scheduler.h"

namespace nadi::inline show {

class Flags;

// --outputs, and what it says: where the folders of jobs are.
void add_outputs_flag(Flags& flags);
std::filesystem::path outputs_flag(const Flags& flags);

struct ChosenJob {
  std::unique_ptr<Scheduler> scheduler;
  std::string id;
  std::optional<std::filesystem::path> folder = {};  // nothing for a job that was not submitted from here
};

// An id without a folder is taken for one of Slurm's. Error (usage) for a folder that no job of ours left.
ChosenJob choose_job(const std::string& job, const std::filesystem::path& outputs);

}  // namespace nadi::inline show
