#include "nadi/cli/completion_values.h"

#include <array>

#include "nadi/base/format.h"
#include "nadi/cluster/catalogue.h"
#include "nadi/command_line/completion.h"
#include "nadi/model/catalogue.h"
#include "nadi/report/analysis_tables.h"
#include "nadi/scheduler/job_folder.h"
#include "nadi/scheduler/scheduler.h"
#include "nadi/scheduler/slurm_client.h"

namespace nadi::inline show {
namespace {

std::vector<Candidate> known_models() {
  std::vector<Candidate> found;
  for (const ModelConfig& config : built_in_models())
    found.push_back({config.name,
                     format("{}, {} layers", to_string(config.architecture), with_thousands(config.layers))});
  return found;
}

std::vector<Candidate> known_devices() {
  std::vector<Candidate> found;
  for (const DeviceSpec& device : catalogue_devices()) found.push_back({device.name, device.product});
  return found;
}

// A device is a cluster of one.
std::vector<Candidate> known_clusters() {
  std::vector<Candidate> found;
  for (const Cluster& cluster : catalogue_clusters()) found.push_back({cluster.name, cluster.summary});
  for (Candidate& device : known_devices()) found.push_back(std::move(device));
  return found;
}

std::vector<Candidate> known_tables() {
  std::vector<Candidate> found;
  for (const std::string& name : analysis_table_names()) found.push_back({name, ""});
  for (const std::string& name : comparison_table_names()) found.push_back({name, "with --against"});
  return found;
}

// The folder is the usual one: where --outputs names another, its jobs are folders, which the shell
// completes.
std::vector<Candidate> jobs_of(SchedulerKind kind) {
  std::vector<Candidate> found;
  const auto scheduler = make_scheduler(kind, {.outputs = std::string(kDefaultJobOutputs)});
  for (const JobStatus& job : scheduler->list({.ended = true}))
    found.push_back({job.id, job.name.empty() ? std::string(to_string(job.state))
                                              : format("{}, {}", job.name, to_string(job.state))});
  return found;
}

std::vector<Candidate> local_jobs() {
  return jobs_of(SchedulerKind::kLocal);
}

std::vector<Candidate> slurm_jobs() {
  return SlurmClient::is_there() ? jobs_of(SchedulerKind::kSlurm) : std::vector<Candidate>();
}

constexpr std::array kValues{ValueSource{"MODEL", known_models},   ValueSource{"CLUSTER", known_clusters},
                             ValueSource{"DEVICE", known_devices}, ValueSource{"TABLE", known_tables},
                             ValueSource{"JOB", local_jobs},       ValueSource{"JOB", slurm_jobs}};

}  // namespace

std::span<const ValueSource> completion_values() {
  return kValues;
}

}  // namespace nadi::inline show
