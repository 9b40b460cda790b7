// Why a job of this machine failed, from the files of its folder: for who waited for it.
#pragma once

#include <string>

#include "nadi/scheduler/scheduler.h"

namespace nadi::inline show {

// "job local-... failed with exit code 3: rank 1 ...", the last lines of errors with their files, and where
// the logs are. Several lines, each ended.
std::string failure_text(const SubmittedJob& submitted, const JobStatus& status);

}  // namespace nadi::inline show
