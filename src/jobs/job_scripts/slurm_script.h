// A job as a script for sbatch: readable, and all in one file.
//
//   const std::vector<SlurmScript> scripts = slurm_scripts(job);       // one, unless JobMixing::kJobs
//   sbatch --parsable scripts[0].text                                  // prints the id
//
// The script makes FOLDER/<id>/, finds the nodes, the master's address and a port, starts a sampler on each
// node and one step over all nodes, passes the signal before the end of the time on to the ranks, and asks
// to be queued again as often as the job says. What it prints is in slurm.txt of the folder (a link to what
// Slurm writes: FOLDER/slurm-<id>.txt, since FOLDER/<id> cannot be there before the id).
//
// Texts of the user reach bash through shell_quote() alone. Values of variables in JobEnvironment::pass are
// in no script: sbatch passes them on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nadi/job_files/job_file.h"

namespace nadi::inline jobs {

struct SlurmScript {
  std::string text;
  std::int64_t first_node = 0;  // of all nodes of the job, where there are several scripts
};

// With JobMixing::kJobs one for each group; all but the first contain kMasterJobMark, which stands for the id
// of the first job. The job has been checked (check_job()).
std::vector<SlurmScript> slurm_scripts(const JobFile& job);

inline constexpr std::string_view kMasterJobMark = "@MASTER_JOB@";
// The script with the id, which has nothing but digits, in place of the mark.
std::string with_master_job(std::string text, std::string_view id);

}  // namespace nadi::inline jobs
