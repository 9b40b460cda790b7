// The job that is watched, or whose output is read: an id, or one or more folders, ours or those of other
// scripts.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/job_log/setting_comparison.h"
#include "nadi/scheduler/scheduler.h"

namespace nadi::inline ask {

struct WatchedJob {
  std::string title = {};                           // "job 12 (gpt2-a10)", or the folder
  std::vector<std::filesystem::path> folders = {};  // may not be there yet
  std::unique_ptr<Scheduler> scheduler = {};        // nullptr means nobody is asked
  std::string scheduler_problem = {};  // why nobody can be asked: the folder is read all the same
  std::string id = {};                 // for the scheduler
  std::vector<AskedSetting> asked = {};
  std::optional<Nanoseconds> predicted_step = {};  // by the plan of the job, where it has one
};

// Each word is a folder, or an id whose folder lies in `outputs`; an id without a folder is one of Slurm's.
// Several words: the folders of one run (master and slave of the old scripts). Error (usage) for a word that
// is neither.
WatchedJob find_watched_job(const std::vector<std::string>& words, const std::filesystem::path& outputs);

}  // namespace nadi::inline ask
