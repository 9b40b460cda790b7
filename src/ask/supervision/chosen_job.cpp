#include "nadi/supervision/chosen_job.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/scheduler/job_folder.h"

namespace nadi::inline ask {

ChosenJob choose_job(const std::string& job, const std::filesystem::path& outputs) {
  ChosenJob chosen{.scheduler = nullptr, .id = job, .folder = find_job_folder(job, outputs)};
  SchedulerKind kind = SchedulerKind::kSlurm;
  std::filesystem::path folders = outputs;
  if (chosen.folder) {
    const auto submitted = read_submitted_job(*chosen.folder);
    if (!submitted && chosen.folder != outputs / job)
      throw usage_error(format("{} is not the folder of a job that 'nadi job submit' started", job),
                        "it has no submitted.json; a report is made of folders of other scripts, too");
    if (submitted) {
      kind = submitted->scheduler;
      chosen.id = submitted->id;
      if (chosen.folder->has_parent_path()) folders = chosen.folder->parent_path();
    }
  }
  chosen.scheduler = make_scheduler(kind, {.outputs = folders});
  return chosen;
}

}  // namespace nadi::inline ask
