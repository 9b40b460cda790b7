// The settings file and the sbatch script of the modified Megatron-LM, as a job.
//
//   const OldSettings old = read_old_settings("_00_conf.sh", "_02_homo_job.sh");
//   old.job                     // nodes, ranks, partition, time, and 'train' with the degrees and batches
//   for (const std::string& note : old.notes) ...
//
// Both files are read, never executed. Of the settings file, lines KEY=value are taken, with quotes,
// comments, "export" and references to earlier keys, $HOME and $USER; of the script, lines #SBATCH. A key
// that is not known, and every other line of the settings file, is named in `notes`: nothing is dropped in
// silence. A value that is the output of a command ($(...), `...`) is Error (input): only bash could say what
// it is.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/scheduler/job_file.h"

namespace nadi {

struct OldSetting {
  std::string name;
  std::string value;
  std::int64_t line = 0;
};

struct OldSettings {
  JobFile job = {};
  std::vector<OldSetting> settings = {};  // KEY=value, the last of each name
  std::vector<OldSetting> options = {};   // of sbatch: "partition", "a10"
  std::vector<std::string> notes = {};    // what was not taken over, and why
};

// `script` may be empty. Paths in the job are absolute; outputs are in the folder of the settings file.
OldSettings read_old_settings(const std::filesystem::path& settings, const std::filesystem::path& script);

}  // namespace nadi
