// Writes folders of jobs as the sbatch scripts of the modified Megatron-LM leave them, for measuring and for
// looking at reports:
//
//   job_logs_gen FOLDER [seed=1] [nodes=64] [gpus=8] [megabytes=50] [timers=all] [profile=1] ...
//
// `megabytes` is the size of the three files of a node together. The settings are those of
// testing/job_logs.h; they are listed when one is not known. own=1 writes folders of `nadi job submit`: with
// job.json, submitted.json, slurm.txt and script.sh, samples of our own sampler, and the count of restarts.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "nadi/testing/job_logs.h"

namespace nadi::bench {
namespace {

std::int64_t whole(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size())
    throw std::invalid_argument("'" + text + "' is not a whole number");
  return value;
}

using Setter = std::function<void(JobLogsSpec&, const std::string&)>;

Setter integer(std::int64_t JobLogsSpec::*member) {
  return [member](JobLogsSpec& spec, const std::string& text) { spec.*member = whole(text); };
}
Setter real(double JobLogsSpec::*member) {
  return [member](JobLogsSpec& spec, const std::string& text) { spec.*member = std::stod(text); };
}
Setter yes(bool JobLogsSpec::*member) {
  return [member](JobLogsSpec& spec, const std::string& text) { spec.*member = whole(text) != 0; };
}

template <typename Value>
Setter choice(Value JobLogsSpec::*member, std::map<std::string, Value> values) {
  return [member, values](JobLogsSpec& spec, const std::string& text) {
    const auto found = values.find(text);
    if (found == values.end()) throw std::invalid_argument("'" + text + "' is none of the choices");
    spec.*member = found->second;
  };
}

const std::map<std::string, Setter>& setters() {
  static const std::map<std::string, Setter> kSetters{
      {"seed", [](JobLogsSpec& spec,
                  const std::string& text) { spec.seed = static_cast<std::uint64_t>(whole(text)); }},
      {"job", integer(&JobLogsSpec::job)},
      {"nodes", integer(&JobLogsSpec::nodes)},
      {"gpus", integer(&JobLogsSpec::gpus)},
      {"second", integer(&JobLogsSpec::nodes_of_second_job)},
      {"missing",
       [](JobLogsSpec& spec, const std::string& text) { spec.missing_nodes.push_back(whole(text)); }},
      {"tensor", integer(&JobLogsSpec::tensor)},
      {"pipeline", integer(&JobLogsSpec::pipeline)},
      {"micro_batch", integer(&JobLogsSpec::micro_batch)},
      {"micro_batches", integer(&JobLogsSpec::micro_batches)},
      {"iterations", integer(&JobLogsSpec::iterations)},
      {"all_iterations", integer(&JobLogsSpec::all_iterations)},
      {"log_interval", integer(&JobLogsSpec::log_interval)},
      {"seconds", real(&JobLogsSpec::seconds)},
      {"warm_up", real(&JobLogsSpec::warm_up)},
      {"noise", real(&JobLogsSpec::noise)},
      {"nan_from", integer(&JobLogsSpec::nan_from)},
      {"newer", yes(&JobLogsSpec::newer_lines)},
      {"timers", choice(&JobLogsSpec::timers, {{"none", JobTimers::kNone},
                                               {"max", JobTimers::kMax},
                                               {"minmax", JobTimers::kMinMax},
                                               {"all", JobTimers::kAll}})},
      {"profile", yes(&JobLogsSpec::profile)},
      {"samples", choice(&JobLogsSpec::samples, {{"none", JobSamples::kNone},
                                                 {"gpustat", JobSamples::kGpustat},
                                                 {"degrees", JobSamples::kGpustatDegrees},
                                                 {"header", JobSamples::kGpustatWithHeader},
                                                 {"nvidia-smi", JobSamples::kNvidiaSmi},
                                                 {"own", JobSamples::kOwn}})},
      {"sample_count", integer(&JobLogsSpec::sample_count)},
      {"hot_node", integer(&JobLogsSpec::hot_node)},
      {"gpu", [](JobLogsSpec& spec, const std::string& text) { spec.gpu = text; }},
      {"gpu_megabytes", integer(&JobLogsSpec::gpu_megabytes)},
      {"warnings", integer(&JobLogsSpec::warnings)},
      {"failing_node", integer(&JobLogsSpec::failing_node)},
      {"other_settings_node", integer(&JobLogsSpec::other_settings_node)},
      {"other_micro_batch", yes(&JobLogsSpec::other_micro_batch_in_effect)},
      {"cut_lines", real(&JobLogsSpec::cut_lines)},
      {"megabytes",
       [](JobLogsSpec& spec, const std::string& text) { spec.bytes_of_node = whole(text) * 1'000'000; }},
  };
  return kSetters;
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw std::runtime_error(path.string() + " cannot be written");
}

// The rest of a folder that `nadi job submit` makes, for a job of Megatron-LM under Slurm.
void write_own_files(const WrittenJob& job, const JobLogsSpec& spec, const std::filesystem::path& parent) {
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  for (std::size_t i = 0; i < job.folders.size(); ++i) {
    const std::string id = job.folders[i].filename().string();
    const std::int64_t second = spec.nodes_of_second_job;
    const std::int64_t nodes = job.folders.size() == 1 ? spec.nodes : i == 0 ? spec.nodes - second : second;
    const std::string words = "\"pretrain_gpt.py\", \"--micro-batch-size\", \"" + number(spec.micro_batch) +
                              "\", \"--global-batch-size\", \"" + number(job.global_batch) +
                              "\", \"--tensor-model-parallel-size\", \"" + number(spec.tensor) +
                              "\", \"--pipeline-model-parallel-size\", \"" + number(spec.pipeline) +
                              "\", \"--seq-length\", \"" + number(spec.sequence) + "\"";
    write_file(job.folders[i] / "job.json", "{\"nadi_job\": 1, \"name\": \"" + spec.model +
                                                "\", \"scheduler\": \"slurm\", \"run\": {\"megatron\": [" +
                                                words + "]}, \"nodes\": " + number(nodes) +
                                                ", \"ranks_per_node\": " + number(spec.gpus) +
                                                ", \"gpus_per_node\": " + number(spec.gpus) +
                                                ", \"outputs\": \"" + parent.string() + "\"}\n");
    write_file(job.folders[i] / "submitted.json",
               "{\"nadi_submitted\": 1, \"scheduler\": \"slurm\", \"id\": \"" + id +
                   "\", \"component_ids\": [], \"time\": \"2022-07-01T00:00:00Z\", \"plan\": \"\"}\n");
    write_file(job.folders[i] / "script.sh", "#!/bin/bash\n# made up by job_logs_gen: it was never run\n");
    write_file(job.folders[i] / "slurm.txt", "SLURM_RESTART_COUNT: 0\nnodes: " + number(nodes) + "\n");
  }
}

int run(int count, char** words) {
  if (count < 2) {
    std::string names;
    for (const auto& [name, setter] : setters()) names += " " + name;
    names += " own";
    std::fprintf(stderr, "usage: job_logs_gen FOLDER [NAME=VALUE ...]\nnames:%s\n", names.c_str());
    return 2;
  }
  JobLogsSpec spec{.keep_items = false};
  bool own = false;
  for (int i = 2; i < count; ++i) {
    const std::string word = words[i];
    if (word == "own=1" || word == "own=0") {
      own = word == "own=1";
      if (own) spec.samples = JobSamples::kOwn;
      continue;
    }
    const std::size_t equals = word.find('=');
    const auto setter = setters().find(word.substr(0, equals));
    if (equals == std::string::npos || setter == setters().end()) {
      std::string names;
      for (const auto& [name, unused] : setters()) names += " " + name;
      names += " own";
      std::fprintf(stderr, "job_logs_gen: unknown setting '%s'; known:%s\n", word.c_str(), names.c_str());
      return 2;
    }
    setter->second(spec, word.substr(equals + 1));
  }
  const WrittenJob job = write_job_logs(words[1], spec);
  if (own) write_own_files(job, spec, std::filesystem::absolute(words[1]));
  for (const std::filesystem::path& folder : job.folders) std::printf("%s\n", folder.c_str());
  return 0;
}

}  // namespace
}  // namespace nadi::bench

int main(int count, char** words) try {
  return nadi::bench::run(count, words);
} catch (const std::exception& problem) {
  std::fprintf(stderr, "job_logs_gen: %s\n", problem.what());
  return 1;
}
