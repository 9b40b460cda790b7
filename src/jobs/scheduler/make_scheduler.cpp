#include "nadi/base/error.h"
#include "nadi/scheduler/local_scheduler.h"
#include "nadi/scheduler/scheduler.h"
#include "nadi/scheduler/slurm_scheduler.h"

namespace nadi::inline jobs {

std::unique_ptr<Scheduler> make_scheduler(SchedulerKind kind, const SchedulerOptions& options) {
  switch (kind) {
    case SchedulerKind::kSlurm:
      return std::make_unique<SlurmScheduler>(SlurmClient(), options);
    case SchedulerKind::kLocal:
      return std::make_unique<LocalScheduler>(options);
  }
  unreachable();
}

}  // namespace nadi::inline jobs
