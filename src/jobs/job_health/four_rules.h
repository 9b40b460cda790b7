// The four questions by which the users of the modified Megatron-LM judge a job, each with its answer and the
// evidence, also where all is well:
//
//   1 scheduler   does the scheduler say that the job runs, or that it is done?
//   2 gpus        does anything happen on the GPUs?
//   3 errors      does stderr have anything but warnings?
//   4 settings    are the settings in effect those that were asked for?
//
//   for (const JobVerdict& verdict : four_rules(seen, job_findings(seen))) ...
//
// What is wrong is what the rules of job_health.h found; here the answers are put together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nadi/job_health/job_health.h"

namespace nadi::inline jobs {

enum class JobAnswer : std::uint8_t { kGood, kBad, kUnknown };
std::string_view to_string(JobAnswer answer);  // "good", "bad", "unknown"

struct JobVerdict {
  int number = 1;
  std::string_view rule;  // "scheduler"
  JobAnswer answer = JobAnswer::kUnknown;
  std::string text = {};  // one line
  std::vector<HealthEvidence> evidence = {};
};
std::vector<JobVerdict> four_rules(const JobObservation& seen, const std::vector<HealthFinding>& findings);

}  // namespace nadi::inline jobs
