#include "nadi/cli/chosen_job.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/command_line/flags.h"
#include "nadi/scheduler/job_folder.h"

namespace nadi::inline show {

void add_outputs_flag(Flags& flags) {
  flags.value("--outputs", "FOLDER", "where the folders of jobs are: \"outputs\" of the job file",
              std::string(kDefaultJobOutputs));
}

std::filesystem::path outputs_flag(const Flags& flags) {
  return flags.text("--outputs").value_or(std::string(kDefaultJobOutputs));
}

ChosenJob choose_job(const std::string& job, const std::filesystem::path& outputs) {
  ChosenJob chosen{.scheduler = nullptr, .id = job, .folder = find_job_folder(job, outputs)};
  SchedulerKind kind = SchedulerKind::kSlurm;
  std::filesystem::path folders = outputs;
  if (chosen.folder) {
    const auto submitted = read_submitted_job(*chosen.folder);
    if (!submitted && chosen.folder != outputs / job)
      throw usage_error(format("{} is not the folder of a job that 'nadi job submit' started", job),
                        "it has no submitted.json; 'nadi job report' takes folders of other scripts, too");
    if (submitted) {
      kind = submitted->scheduler;
      chosen.id = submitted->id;
      if (chosen.folder->has_parent_path()) folders = chosen.folder->parent_path();
    }
  }
  chosen.scheduler = make_scheduler(kind, {.outputs = folders});
  return chosen;
}

}  // namespace nadi::inline show
