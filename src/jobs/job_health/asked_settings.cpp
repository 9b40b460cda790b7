#include <algorithm>
#include <string>

#include "nadi/base/format.h"
#include "nadi/job_files/old_nodes.h"
#include "nadi/job_files/old_settings.h"
#include "nadi/job_files/train_settings.h"
#include "nadi/job_health/job_health.h"

namespace nadi::inline jobs {

// Words of Megatron-LM's command line: "--micro-batch-size 4" is micro_batch_size. Values that a variable of
// the job fills in are known to the job alone; flags with several values have no one form in Megatron's list.
std::vector<AskedSetting> asked_settings(const JobFile& job) {
  std::vector<AskedSetting> asked{
      {.name = "NNODES", .value = format("{}", job.nodes()), .where = "job.json"},
      {.name = "WORLD_SIZE", .value = format("{}", job.ranks()), .where = "job.json"},
  };
  for (const auto& [name, value] : job.environment.set)
    asked.push_back({.name = name, .value = value, .where = "job.json"});
  if (!job.master_address.empty())
    asked.push_back({.name = "MASTER_ADDR", .value = job.master_address, .where = "job.json"});
  if (job.master_port > 0)
    asked.push_back({.name = "MASTER_PORT", .value = format("{}", job.master_port), .where = "job.json"});
  for (const TrainSetting& setting : train_settings(job))
    if (setting.value.find("${") == std::string::npos)
      asked.push_back({.name = setting.name, .value = setting.value, .where = "job.json"});
  if (job.run.kind != JobRunKind::kMegatron) return asked;
  const std::vector<std::string>& words = job.run.words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) continue;
    const std::size_t equals = words[i].find('=');
    std::string name = words[i].substr(2, equals == std::string::npos ? equals : equals - 2);
    std::ranges::replace(name, '-', '_');
    std::vector<std::string> values;
    if (equals != std::string::npos) values.push_back(words[i].substr(equals + 1));
    for (std::size_t next = i + 1; next < words.size() && !words[next].starts_with("--"); ++next)
      values.push_back(words[next]);
    if (values.size() > 1 || name.starts_with("no_")) continue;
    const std::string value = values.empty() ? "True" : values.front();
    if (value.find("${") != std::string::npos) continue;
    asked.push_back({.name = std::move(name), .value = value, .where = "job.json"});
  }
  return asked;
}

std::vector<AskedSetting> asked_settings(const std::filesystem::path& old_settings) {
  const ShellSettings old = read_old_settings_file(old_settings);
  const std::string file = old_settings.filename().string();
  std::vector<AskedSetting> asked;
  for (const ShellSetting& setting : old.settings)
    asked.push_back(
        {.name = setting.name, .value = setting.value, .where = format("{}:{}", file, setting.line)});
  const auto has = [&](std::string_view name) {
    return std::ranges::find(asked, name, &AskedSetting::name) != asked.end();
  };
  if (const ShellSetting* nodes = old.find("NNODES"), *ranks = old.find("NPROC_PER_NODE");
      !has("WORLD_SIZE") && nodes != nullptr && ranks != nullptr) {
    const auto count = [&](const ShellSetting& setting) {
      return old_count(setting.name, setting.value, {.file = old_settings.string(), .line = setting.line});
    };
    asked.push_back({.name = "WORLD_SIZE",
                     .value = format("{}", count(*nodes) * count(*ranks)),
                     .where = format("{}, NNODES x NPROC_PER_NODE", file)});
  }
  return asked;
}

}  // namespace nadi::inline jobs
