// The words of a command that continues where it stopped.
#pragma once

#include <string>
#include <vector>

#include "nadi/job_files/job_file.h"

namespace nadi::inline jobs {

// For `nadi train ...` (words[0] is "train") that saves something: with --resume-if-any, since it may have
// stopped before its first checkpoint. Any other command is as it is.
std::vector<std::string> words_to_resume(const std::vector<std::string>& words);

// The same for a job that is submitted again.
JobFile job_to_resume(JobFile job);

}  // namespace nadi::inline jobs
