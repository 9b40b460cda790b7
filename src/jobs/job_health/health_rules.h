// The rules, one function each: they add what they find. For job_findings() and the tests.
#pragma once

#include <vector>

#include "nadi/job_health/job_health.h"

namespace nadi::inline jobs {

using HealthFindings = std::vector<HealthFinding>;

void find_state(const JobObservation& seen, const HealthLimits& limits, HealthFindings& findings);
void find_idle_gpus(const JobObservation& seen, const HealthLimits& limits, HealthFindings& findings);
void find_errors(const JobObservation& seen, const HealthLimits& limits, HealthFindings& findings);
void find_settings(const JobObservation& seen, const HealthLimits& limits, HealthFindings& findings);
void find_stall(const JobObservation& seen, const HealthLimits& limits, HealthFindings& findings);
void find_bad_loss(const JobObservation& seen, const HealthLimits& limits, HealthFindings& findings);
void find_pace(const JobObservation& seen, const HealthLimits& limits, HealthFindings& findings);
void find_slow_nodes(const JobObservation& seen, const HealthLimits& limits, HealthFindings& findings);
void find_device_trouble(const JobObservation& seen, const HealthLimits& limits,
                         HealthFindings& findings);  // heat, clocks, memory
void find_memory_growth(const JobObservation& seen, const HealthLimits& limits, HealthFindings& findings);
void find_requeue(const JobObservation& seen, const HealthLimits& limits, HealthFindings& findings);

// GPUs that have computed without a pause for a while, at the end of their samples.
struct BusyGpus {
  std::size_t gpus = 0;      // all of the job
  double least_percent = 0;  // the lowest sample of any
  HealthEvidence evidence = {};
};
// Nothing when one of them had a pause in the last `span`, or there are too few samples.
std::optional<BusyGpus> busy_gpus(const JobLog& log, std::chrono::seconds span);

// "n060.out:12"
std::string place_of(const LogFile& file, std::int64_t line);
// "n060", "n060 and n061", "n060, n061 and 6 others"
std::string names_of(const std::vector<std::string>& nodes);

}  // namespace nadi::inline jobs
