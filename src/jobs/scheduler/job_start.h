// The job file that a user begins with: comments say what each key is for and what the cluster has.
#pragma once

#include <span>
#include <string>

#include "nadi/job_files/job_file.h"
#include "nadi/scheduler/scheduler.h"

namespace nadi::inline jobs {

// `nodes` are those of the scheduler; none means it could not be asked. The text is a job file with comments,
// which parse_job_file() takes as it is.
std::string job_start_text(SchedulerKind scheduler, std::span<const SchedulerNode> nodes);

}  // namespace nadi::inline jobs
