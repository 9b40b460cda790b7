#include "nadi/job_files/job_variables.h"

#include <algorithm>
#include <array>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/base/nearest.h"

namespace nadi::inline jobs {
namespace {

constexpr std::array kJobVariables{
    JobVariable{"RANK", "number of the rank, from 0, over all nodes", true},
    JobVariable{"LOCAL_RANK", "number of the rank on its node, from 0", true},
    JobVariable{"WORLD_SIZE", "number of ranks"},
    JobVariable{"NODE_RANK", "number of the node, from 0"},
    JobVariable{"NNODES", "number of nodes"},
    JobVariable{"NPROC_PER_NODE", "number of ranks of this node"},
    JobVariable{"MASTER_ADDR", "address of the first node"},
    JobVariable{"MASTER_PORT", "a port that is free there"},
    JobVariable{"JOB_ID", "id of the job; of a run of a sweep, 12_3"},
    JobVariable{"JOB_FOLDER", "folder of the job"},
    JobVariable{"RESTART_COUNT", "how often the job was queued again"},
};

bool has_name(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::vector<std::string> known_names(const JobFile& job) {
  std::vector<std::string> names;
  for (const JobVariable& variable : kJobVariables)
    if (!variable.of_rank || job.processes == JobProcesses::kRanks) names.emplace_back(variable.name);
  for (const auto& [name, values] : job.sweep.values) names.push_back(name);
  for (const auto& [name, value] : job.environment.set) names.push_back(name);
  for (const std::string& name : job.environment.pass) names.push_back(name);
  return names;
}

}  // namespace

std::span<const JobVariable> job_variables() {
  return kJobVariables;
}

std::vector<WordPart> word_parts(std::string_view word, const JobFile& job) {
  std::vector<WordPart> parts;
  std::string text;
  for (std::size_t i = 0; i < word.size();) {
    if (word.substr(i).starts_with("$${")) {
      text += "${";
      i += 3;
      continue;
    }
    if (!word.substr(i).starts_with("${")) {
      text += word[i++];
      continue;
    }
    const std::size_t end = word.find('}', i);
    const std::string name(word.substr(i + 2, end == std::string_view::npos ? end : end - i - 2));
    const std::vector<std::string> known = known_names(job);
    if (end == std::string_view::npos || !has_name(known, name))
      throw usage_error(format("{} names a variable that this job does not have", quote_for_message(word)),
                        did_you_mean(name, known) + "; a literal ${ is written $${");
    if (!text.empty()) parts.push_back({std::exchange(text, "")});
    parts.push_back({name, true});
    i = end + 1;
  }
  if (!text.empty() || parts.empty()) parts.push_back({text});
  return parts;
}

}  // namespace nadi::inline jobs
