// The settings file and the sbatch scripts of the modified Megatron-LM, as a job.
//
//   const OldSettings old = read_old_settings("_00_conf.sh", {"_02_homo_job.sh"});
//   old.job                     // nodes, ranks, partition, time, and 'train' with the degrees and batches
//   for (const std::string& note : old.notes) ...
//
//   read_old_settings("_00_conf.sh", {"_02_hetero_master_job.sh", "_02_hetero_slave_job.sh"});    // two
//   groups
//
// Nothing is executed: the settings file is evaluated as shell_settings.h says, of the scripts the #SBATCH
// lines count, and MASTER_ADDR and GRES of their bodies. Two scripts are two groups of one heterogeneous job,
// the master's first. What is not taken over is named in `notes`: nothing is dropped in silence.
//
// Error (input) with file and line for settings that contradict each other, the scripts or the model.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "nadi/job_files/job_file.h"
#include "nadi/shell/shell_settings.h"

namespace nadi::inline jobs {

struct OldSettings {
  JobFile job = {};
  ShellSettings file = {};              // the settings file alone
  std::vector<std::string> notes = {};  // what was not taken over, and why
};

// Without scripts, nodes and ranks are those of the settings. Paths in the job are absolute; outputs are in
// the folder of the settings file.
OldSettings read_old_settings(const std::filesystem::path& settings,
                              const std::vector<std::filesystem::path>& scripts);

// The settings alone: what was asked for, without looking at whether a job can be made of it.
ShellSettings read_old_settings_file(const std::filesystem::path& settings);

}  // namespace nadi::inline jobs
