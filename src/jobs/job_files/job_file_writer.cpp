#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/cluster/cluster_values.h"
#include "nadi/job_files/job_file.h"
#include "nadi/job_files/job_keys.h"
#include "nadi/job_files/job_time.h"

namespace nadi::inline jobs {
namespace {

std::string seconds_text(std::chrono::seconds time) {
  return format("{} s", time.count());
}

void put_text(Json& object, const char* key, const std::string& text) {
  if (!text.empty()) object[key] = text;
}

void put_list(Json& object, const char* key, const std::vector<std::string>& texts) {
  if (!texts.empty()) object[key] = texts;
}

void put_nodes(Json& object, const JobNodes& nodes) {
  put_text(object, "kind", nodes.kind);
  object["nodes"] = nodes.nodes;
  object["ranks_per_node"] = nodes.ranks_per_node;
  object["gpus_per_node"] = nodes.gpus_per_node;
  put_text(object, "gpu_type", nodes.gpu_type);
  object["cpus_per_rank"] = nodes.cpus_per_rank;
  if (nodes.memory) object["memory"] = size_text(*nodes.memory);
  put_text(object, "partition", format("{}", fmt::join(nodes.partitions, ",")));
  put_text(object, "constraint", nodes.constraint);
  put_list(object, "exclude", nodes.exclude);
  put_list(object, "nodelist", nodes.nodelist);
}

Json run_json(const JobRun& run) {
  Json object;
  object[std::string(to_string(run.kind))] = run.words;
  put_text(object, "program", run.program);
  put_text(object, "folder", run.folder.string());
  put_list(object, "setup", run.setup);
  return object;
}

Json profiler_json(const ProfilerUse& use) {
  Json object;
  object["steps"] = !use.steps ? "all"
                    : use.steps->first == use.steps->last
                        ? format("{}", use.steps->first)
                        : format("{}-{}", use.steps->first, use.steps->last);
  std::string ranks;
  for (std::size_t i = 0; i < use.ranks.size();) {
    std::size_t end = i + 1;
    while (end < use.ranks.size() && use.ranks[end] == use.ranks[end - 1] + 1) ++end;
    ranks += ranks.empty() ? "" : ",";
    ranks += end - i == 1 ? format("{}", use.ranks[i]) : format("{}-{}", use.ranks[i], use.ranks[end - 1]);
    i = end;
  }
  object["ranks"] = ranks.empty() ? "all" : ranks;
  return object;
}

Json container_json(const JobContainer& container) {
  Json object;
  object["kind"] = to_string(container.kind);
  put_text(object, "image", container.image);
  put_list(object, "mounts", container.mounts);
  put_text(object, "folder", container.folder);
  return object;
}

Json environment_json(const JobEnvironment& environment) {
  Json object;
  object["inherit"] = environment.inherit;
  put_list(object, "pass", environment.pass);
  for (const auto& [name, value] : environment.set) object["set"][name] = value;
  return object;
}

Json requeue_json(const JobRequeue& requeue) {
  Json object{{"before_end", seconds_text(requeue.before_end)}};
  put_text(object, "signal", requeue.signal);
  object["max_restarts"] = requeue.max_restarts;
  object["on_failure"] = requeue.on_failure;
  object["exclude_failed_nodes"] = requeue.exclude_failed_nodes;
  return object;
}

}  // namespace

std::string job_file_text(const JobFile& job) {
  Json root;
  root["nadi_job"] = kJobFileVersion;
  root["name"] = job.name;
  root["scheduler"] = to_string(job.scheduler);
  root["run"] = run_json(job.run);
  put_text(root, "plan", job.plan.string());
  if (job.groups.size() == 1 && job.groups[0].kind.empty()) {
    put_nodes(root, job.groups[0]);
  } else {
    for (const JobNodes& group : job.groups) {
      Json object;
      put_nodes(object, group);
      root["groups"].push_back(std::move(object));
    }
  }
  root["processes"] = to_string(job.processes);
  root["mixing"] = to_string(job.mixing);
  put_text(root, "mpi", job.mpi);
  put_text(root, "master_address", job.master_address);
  if (job.master_port > 0) root["master_port"] = job.master_port;
  put_text(root, "account", job.account);
  put_text(root, "qos", job.qos);
  put_text(root, "reservation", job.reservation);
  put_text(root, "dependency", job.dependency);
  if (job.time) root["time"] = job_time_text(*job.time);
  root["exclusive"] = job.exclusive;
  put_list(root, "options", job.options);
  root["container"] = container_json(job.container);
  root["environment"] = environment_json(job.environment);
  if (job.profile.nsys) root["profile"]["nsys"] = profiler_json(*job.profile.nsys);
  if (job.profile.ncu) root["profile"]["ncu"] = profiler_json(*job.profile.ncu);
  if (job.profile.trace) root["profile"]["trace"] = profiler_json(*job.profile.trace);
  root["requeue"] = requeue_json(job.requeue);
  if (!job.sweep.values.empty()) {
    for (const auto& [name, values] : job.sweep.values) root["sweep"]["values"][name] = values;
    root["sweep"]["at_once"] = job.sweep.at_once;
  }
  root["sample_every"] = seconds_text(job.sample_every);
  root["comm_timeout"] = seconds_text(job.comm_timeout);
  root["outputs"] = job.outputs.string();
  return dump_json(root);
}

}  // namespace nadi::inline jobs
