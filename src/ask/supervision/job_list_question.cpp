#include "nadi/supervision/job_list_question.h"

#include "nadi/base/error.h"
#include "nadi/job_files/job_file.h"
#include "nadi/scheduler/slurm_client.h"

namespace nadi::inline ask {

JobListAnswer list_jobs(const JobListQuestion& question) {
  const SchedulerOptions where{.outputs = question.outputs.value_or(kDefaultJobOutputs),
                               .everywhere = !question.outputs};
  JobListAnswer answer;
  if (question.scheduler != SchedulerKind::kSlurm)
    answer.jobs = make_scheduler(SchedulerKind::kLocal, where)->list(question.which);
  if (question.scheduler ? question.scheduler != SchedulerKind::kSlurm : !SlurmClient::is_there())
    return answer;
  try {
    const auto slurm = make_scheduler(SchedulerKind::kSlurm, where);
    for (JobStatus& job : slurm->list(question.which)) answer.jobs.push_back(std::move(job));
    answer.notes = slurm->notes();
  } catch (const Error& error) {
    // Slurm's commands may be installed where no Slurm is; jobs of this machine are no reason to fail then.
    if (question.scheduler) throw;
    answer.slurm_problem = error.what();
  }
  return answer;
}

}  // namespace nadi::inline ask
