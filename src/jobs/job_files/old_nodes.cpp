#include "nadi/job_files/old_nodes.h"

#include <algorithm>

#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/base/parse_bytes.h"
#include "nadi/base/read_number.h"
#include "nadi/job_files/job_time.h"

namespace nadi::inline jobs {
namespace {

Place place_in(const SbatchScript& script, const SbatchOption& option) {
  return {.file = script.path.string(), .line = option.line};
}

Error wrong_option(const SbatchScript& script, const SbatchOption& option, std::string_view wanted) {
  return input_error(place_in(script, option),
                     format("--{} is {}, not {}", option.name, quote_for_message(option.value), wanted));
}

// "n[1-3],n7": commas in brackets belong to a name.
std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0)
      names.emplace_back();
    else
      names.back() += c;
  }
  std::erase(names, "");
  return names;
}

std::string file_name(const SbatchScript& script) {
  return script.path.filename().string();
}

}  // namespace

std::int64_t old_count(const std::string& name, const std::string& value, const Place& place,
                       std::int64_t least) {
  std::int64_t count = 0;
  constexpr std::int64_t kMost = 1 << 24;
  if (!read_number(value, count) || count < least || count > kMost)
    throw input_error(place,
                      format("{} is {}, not a number from {} on", name, quote_for_message(value), least));
  return count;
}

OldNodes::OldNodes(std::vector<SbatchScript> scripts, JobFile& job, std::vector<std::string>& notes)
    : job_(job), notes_(notes) {
  // Rank 0 is on the first node of the first group, and that is the master's.
  if (scripts.size() == 2 && file_name(scripts[0]).find("slave") != std::string::npos &&
      file_name(scripts[1]).find("master") != std::string::npos) {
    std::swap(scripts[0], scripts[1]);
    note(format("{} comes first: rank 0 is there", file_name(scripts[0])));
  }
  if (scripts.empty()) scripts.emplace_back();
  job_.groups.assign(scripts.size(), JobNodes{});
  for (SbatchScript& script : scripts) groups_.push_back({.script = std::move(script)});
  for (std::size_t number = 0; number < groups_.size(); ++number)
    for (const SbatchOption& option : groups_[number].script.options)
      if (!take_option_of_job(groups_[number].script, number, option))
        take_option(groups_[number], number, option);
  for (std::size_t number = 0; number < groups_.size(); ++number) {
    const SbatchScript& script = groups_[number].script;
    if (!script.gres) continue;
    const SbatchOption* asked = script.find("gres");
    if (asked == nullptr) asked = script.find("gpus-per-node");
    if (asked != nullptr && parse_sbatch_gpus(script.gres->value) != parse_sbatch_gpus(asked->value))
      throw input_error(place_in(script, *script.gres),
                        format("GRES is {}, and line {} asks for --{}={}",
                               quote_for_message(script.gres->value), asked->line, asked->name, asked->value),
                        "make them the same");
    if (asked == nullptr) take_gpus(groups_[number], number, {"gres", script.gres->value, script.gres->line});
  }
  take_master();
}

void OldNodes::take_master() {
  const SbatchScript* giver = nullptr;
  for (const Group& group : groups_) {
    if (!group.script.master_address) continue;
    const SbatchOption& given = *group.script.master_address;
    if (giver != nullptr && given.value != job_.master_address)
      throw input_error(place_in(group.script, given),
                        format("MASTER_ADDR is {}, and {} says {}", quote_for_message(given.value),
                               place_in(*giver, *giver->master_address).to_string(),
                               quote_for_message(job_.master_address)),
                        "one job has one first node");
    job_.master_address = given.value;
    giver = &group.script;
  }
}

// Options that a job has once. False for those of a group.
bool OldNodes::take_option_of_job(const SbatchScript& script, std::size_t number,
                                  const SbatchOption& option) {
  const std::string& name = option.name;
  if (name == "output" || name == "error" || name == "open-mode") {
    if (number == 0) note(format("--{} is not taken over: each job has a folder of its own", name));
    return true;
  }
  std::string* const text = name == "job-name"      ? &job_.name
                            : name == "account"     ? &job_.account
                            : name == "qos"         ? &job_.qos
                            : name == "reservation" ? &job_.reservation
                            : name == "dependency"  ? &job_.dependency
                                                    : nullptr;
  const bool whole_nodes = name == "exclusive" && option.value.empty();
  constexpr std::array<std::string_view, 12> kOfGroup{
      "nodes",     "ntasks-per-node", "ntasks",   "cpus-per-task", "gres", "gpus-per-node",
      "partition", "constraint",      "nodelist", "exclude",       "mem",  "gpus"};
  const bool of_group = std::ranges::find(kOfGroup, name) != kOfGroup.end();
  if (of_group) return false;
  if (number > 0) {
    const SbatchOption* const first = groups_[0].script.find(name);
    if (first == nullptr || first->value != option.value)
      note(format("--{}{} of {} is not taken over: it is one job, and {} says how it runs", name,
                  option.value.empty() ? "" : "=" + option.value, file_name(script),
                  file_name(groups_[0].script)));
    return true;
  }
  if (text != nullptr) {
    *text = option.value;
  } else if (whole_nodes) {
    job_.exclusive = true;
  } else if (name == "time") {
    if (option.value == "UNLIMITED" || option.value == "infinite") return true;
    job_.time = parse_job_time(option.value);
    if (!job_.time) throw wrong_option(script, option, "a time");
  } else {
    job_.options.push_back(format("--{}{}", name, option.value.empty() ? "" : "=" + option.value));
  }
  return true;
}

void OldNodes::take_option(Group& group, std::size_t number, const SbatchOption& option) {
  const std::string& name = option.name;
  JobNodes& nodes = job_.groups[number];
  const Place place = place_in(group.script, option);
  const auto count = [&] { return OldCount{old_count("--" + name, option.value, place), place}; };
  if (name == "nodes")
    group.nodes = count();
  else if (name == "ntasks-per-node")
    group.tasks = count();
  else if (name == "ntasks")
    note(format("--ntasks={} is not taken over: it follows from nodes and ranks", option.value));
  else if (name == "cpus-per-task")
    group.cpus = count();
  else if (name == "gres" || name == "gpus-per-node")
    take_gpus(group, number, option);
  else if (name == "gpus")
    note(format("--gpus={} is not taken over: it follows from nodes and ranks", option.value));
  else if (name == "partition")
    nodes.partitions = names_in(option.value);
  else if (name == "constraint")
    nodes.constraint = option.value;
  else if (name == "nodelist")
    nodes.nodelist = names_in(option.value);
  else if (name == "exclude")
    nodes.exclude = names_in(option.value);
  else if (name == "mem")
    take_memory(group, number, option);
}

void OldNodes::take_gpus(const Group& group, std::size_t number, const SbatchOption& option) {
  const auto gpus = parse_sbatch_gpus(option.value);
  if (!gpus) throw wrong_option(group.script, option, "a number of GPUs such as gpu:4 or gpu:a10:4");
  job_.groups[number].gpu_type = gpus->type;
  job_.groups[number].gpus_per_node = gpus->count;
}

void OldNodes::take_memory(const Group& group, std::size_t number, const SbatchOption& option) {
  // Slurm counts in MiB, and its letters are powers of two.
  std::string text = option.value;
  if (text == "0") return note("--mem=0 is not taken over: \"exclusive\": true takes whole nodes");
  if (!text.empty() && text.back() >= '0' && text.back() <= '9') text += "M";
  const auto memory = parse_bytes(text + "iB");
  if (!memory) throw wrong_option(group.script, option, "an amount of memory");
  job_.groups[number].memory = memory;
}

void OldNodes::set_counts(const std::optional<OldCount>& nodes, const std::optional<OldCount>& ranks) {
  std::int64_t sum = 0;
  std::string terms, files;
  for (const Group& group : groups_) {
    const std::int64_t count = group.nodes ? group.nodes->count : 1;
    sum += count;
    terms += format("{}{}", terms.empty() ? "" : " + ", count);
    files += (files.empty() ? "" : " and ") + file_name(group.script);
  }
  if (groups_.size() == 1 && !groups_[0].nodes && nodes) sum = nodes->count;
  if (nodes && sum != nodes->count) {
    if (groups_.size() > 1)
      throw input_error(nodes->place,
                        format("NNODES is {}, and {} ask for {} = {} nodes", nodes->count, files, terms, sum),
                        "the nodes of the master and of the slaves add up to NNODES");
    throw input_error(
        groups_[0].nodes->place,
        format("--nodes={}, and NNODES={} at {}", sum, nodes->count, nodes->place.to_string()),
        sum < nodes->count
            ? "make them the same; a heterogeneous job has two scripts, the master's and the slaves'"
            : "make them the same");
  }
  for (std::size_t number = 0; number < groups_.size(); ++number) {
    const Group& from = groups_[number];
    JobNodes& group = job_.groups[number];
    group.nodes = from.nodes ? from.nodes->count : groups_.size() == 1 && nodes ? nodes->count : 1;
    // The old scripts had one task for each node, which started its ranks.
    const bool tasks_are_ranks = from.tasks && from.tasks->count != 1;
    group.ranks_per_node = ranks             ? ranks->count
                           : tasks_are_ranks ? from.tasks->count
                                             : std::max<std::int64_t>(1, group.gpus_per_node);
    if (from.cpus)
      group.cpus_per_rank = tasks_are_ranks
                                ? from.cpus->count
                                : std::max<std::int64_t>(1, from.cpus->count / group.ranks_per_node);
    if (group.gpus_per_node == 0) group.gpus_per_node = group.ranks_per_node;
  }
}

}  // namespace nadi::inline jobs
