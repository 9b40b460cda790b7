// What a job did, beside another one where that is wanted: what `nadi job report` is asked.
//
//   const JobReportAnswer answer = report_job({.jobs = {"log2/10932251"}, .compared_with = {"log2/10932263"}});
//   answer.report.steady, answer.other->findings
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/job_files/job_file.h"
#include "nadi/job_report/job_report.h"

namespace nadi::inline ask {

struct JobReportQuestion {
  // Ids, or folders, also those that other scripts left; several are one run.
  std::vector<std::string> jobs = {}, compared_with = {};
  std::filesystem::path outputs = kDefaultJobOutputs;  // where the folders of jobs are
  // A plan that the job follows, else plan.json of its folder; and a settings file of the modified Megatron-LM, else
  // job.json of its folder. Of the job alone.
  std::optional<std::filesystem::path> plan = {}, old_settings = {};
  std::function<void(Bytes done, Bytes total)> progress = {};
};

struct JobReportAnswer {
  JobReport report;
  std::optional<JobReport> other = {};
};

// Error (usage) for a job that is not here, and for a sweep, whose runs have reports of their own; and what
// report_of_folders() throws.
JobReportAnswer report_job(const JobReportQuestion& question);

}  // namespace nadi::inline ask
