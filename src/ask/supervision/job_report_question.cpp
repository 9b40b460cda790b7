#include "nadi/supervision/job_report_question.h"

#include <chrono>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/job_report/folder_report.h"
#include "nadi/scheduler/job_folder.h"

namespace nadi::inline ask {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> folders_of(const std::vector<std::string>& jobs, const fs::path& outputs) {
  std::vector<fs::path> folders;
  for (const std::string& job : jobs) {
    const std::optional<fs::path> folder = find_job_folder(job, outputs);
    if (!folder)
      throw usage_error(
          format("there is no job and no folder {}", job),
          format("give a folder that has <node>.out, or a job whose folder lies in {}; name another "
                 "folder of jobs",
                 outputs.string()));
    if (const auto runs = runs_of_sweep(*folder); !runs.empty())
      throw usage_error(format("job {} is a sweep, and each run has its own report", job),
                        format("runs: {}; compare two of them", fmt::join(runs, ", ")));
    folders.push_back(*folder);
  }
  return folders;
}

}  // namespace

JobReportAnswer report_job(const JobReportQuestion& question) {
  const std::vector<fs::path> folders = folders_of(question.jobs, question.outputs);
  const std::vector<fs::path> others = folders_of(question.compared_with, question.outputs);
  FolderReportOptions options{
      .now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()),
      .plan = question.plan,
      .old_settings = question.old_settings,
      .progress = question.progress};
  JobReportAnswer answer{.report = report_of_folders(folders, options)};
  options.plan.reset();
  options.old_settings.reset();
  if (!others.empty()) answer.other = report_of_folders(others, options);
  return answer;
}

}  // namespace nadi::inline ask
