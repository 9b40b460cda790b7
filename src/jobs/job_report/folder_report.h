// The report of a job by its folder: reads the logs, the job file, what the scheduler says, and asks the
// rules of health.
//
//   const JobReport report = report_of_folders({"jobs/12"}, {.now = now});
//
// Several folders are one run: the two jobs of a mixed cluster. Folders that other scripts left have nothing
// but the files of nodes; then nothing is asked of any scheduler.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/job_report/job_report.h"

namespace nadi::inline jobs {

struct FolderReportOptions {
  std::chrono::sys_seconds now = {};
  std::optional<std::filesystem::path> plan = {};  // nothing means plan.json of the folder, where it is there
  // A settings file of the modified Megatron-LM, for folders without a job file: what was asked for.
  std::optional<std::filesystem::path> old_settings = {};
  bool ask_scheduler = true;
  std::function<void(Bytes done, Bytes total)> progress = {};
};

// Error (input) as read_job_log() throws, and for a damaged job file or plan. A scheduler that does not
// answer is a note of the report.
JobReport report_of_folders(const std::vector<std::filesystem::path>& folders,
                            const FolderReportOptions& options = {});

}  // namespace nadi::inline jobs
