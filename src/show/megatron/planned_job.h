// A job that follows a plan: nodes and ranks by it, and Megatron-LM's flags and variables for it.
#pragma once

#include <string>
#include <vector>

#include "nadi/job_files/job_file.h"

namespace nadi::inline show {

struct PlannedJobNotes {
  std::vector<std::string> notes = {}, problems = {};
};
// Nodes, ranks and flags by `job.plan`, which fits its model and its cluster; `nadi train` reads the plan itself.
PlannedJobNotes follow_plan(JobFile& job);

// What a restart of a job of Megatron-LM needs, and nothing adds.
std::vector<std::string> lost_steps_of(const JobFile& job);

}  // namespace nadi::inline show
