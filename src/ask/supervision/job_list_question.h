// Which jobs wait, run, or have ended: what `nadi job list` is asked.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "nadi/scheduler/scheduler.h"

namespace nadi::inline ask {

struct JobListQuestion {
  // Nothing means jobs of this machine, and of Slurm where it is installed.
  std::optional<SchedulerKind> scheduler = {};
  ListOptions which = {};
  std::optional<std::filesystem::path> outputs =
      {};  // of this machine: with folders there alone; nothing means anywhere
};

struct JobListAnswer {
  std::vector<JobStatus> jobs;
  std::vector<std::string> notes = {};  // what Slurm did not say
  std::string slurm_problem = {};  // why jobs of Slurm are missing, where they were not asked for by name
};

JobListAnswer list_jobs(const JobListQuestion& question);

}  // namespace nadi::inline ask
