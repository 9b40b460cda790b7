#include "nadi/supervision/watched_job.h"

#include <algorithm>

#include "nadi/base/ascii.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/job_health/job_health.h"
#include "nadi/plan/plan_file.h"
#include "nadi/scheduler/job_folder.h"

namespace nadi::inline ask {
namespace {

// "12", "12_3", "12+1".
bool is_job_id(std::string_view word) {
  return !word.empty() && is_digit(word[0]) &&
         std::ranges::all_of(word, [](char c) { return is_digit(c) || c == '_' || c == '+'; });
}

}  // namespace

WatchedJob find_watched_job(const std::vector<std::string>& words, const std::filesystem::path& outputs) {
  WatchedJob job;
  for (const std::string& word : words) {
    const auto folder = find_job_folder(word, outputs);
    if (!folder) {
      if (!is_job_id(word))
        throw usage_error(format("{} is neither a folder nor the id of a job", quote_for_message(word)),
                          format("ids are looked for in {}; name another folder of jobs", outputs.string()));
      if (job.scheduler == nullptr) {
        job.scheduler = make_scheduler(SchedulerKind::kSlurm, {.outputs = outputs});
        job.id = word;
        const JobStatus status = job.scheduler->status(word);
        job.title = status.name.empty() ? "job " + word : format("job {} ({})", word, status.name);
        if (!status.folder.empty()) job.folders.push_back(status.folder);
      }
      continue;
    }
    job.folders.push_back(*folder);
    const auto submitted = read_submitted_job(*folder);
    const auto file = read_job_of(*folder);
    if (submitted && job.scheduler == nullptr) {
      try {
        job.scheduler = make_scheduler(submitted->scheduler, {.outputs = folder->parent_path()});
      } catch (const Error& error) {
        job.scheduler_problem = error.message();  // logs may be looked at far from the cluster
      }
      job.id = submitted->id;
      job.title = file ? format("job {} ({})", job.id, file->name) : "job " + job.id;
    }
    if (file && job.asked.empty()) job.asked = asked_settings(*file);
    if (file && !file->plan.empty()) {
      try {
        job.predicted_step = read_plan_file(file->plan).predicted.step_time;
      } catch (const Error&) {
        job.predicted_step.reset();  // the plan may be gone when the logs are looked at
      }
    }
  }
  if (job.title.empty()) {
    for (const std::filesystem::path& folder : job.folders)
      job.title += (job.title.empty() ? "" : ", ") + folder.string();
  }
  return job;
}

}  // namespace nadi::inline ask
