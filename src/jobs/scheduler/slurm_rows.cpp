#include "nadi/scheduler/slurm_rows.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>

#include "nadi/base/ascii.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/scheduler/slurm_text.h"

namespace nadi::inline jobs {
namespace {

// Both programs are asked for the same things in the same order; kOwn is what only one of them says.
enum class RowField {
  kNumber,
  kId,
  kState,
  kOwn,  // squeue: the reason; sacct: how it ended
  kElapsed,
  kLimit,
  kPartition,
  kUser,
  kNodes,
  kSubmitted,
  kStarted,
  kEnded,
  kName,
  kLast
};
constexpr std::array<std::string_view, 14> kQueueFields{"%A", "%i", "%T", "%r", "%M", "%l", "%P",
                                                        "%u", "%N", "%V", "%S", "%e", "%j", "%A"};
constexpr std::size_t kFields = kQueueFields.size();
constexpr std::string_view kSacctFormat =
    "JobIDRaw,JobID,State,ExitCode,ElapsedRaw,TimelimitRaw,Partition,User,NodeList,Submit,Start,End,JobName,"
    "JobIDRaw";

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

std::int64_t number_of(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// A line as it is shown to a user: the drawn separator says nothing.
std::string with_plain_separators(std::string_view line, std::string_view separator) {
  std::string text;
  for (std::size_t found = line.find(separator); found != std::string_view::npos;
       found = line.find(separator)) {
    text += line.substr(0, found);
    text += '|';
    line.remove_prefix(found + separator.size());
  }
  text += line;
  return text;
}

using RowTexts = std::vector<std::string_view>;

std::string_view at(const RowTexts& row, RowField field) {
  return row[static_cast<std::size_t>(field)];
}

// What both programs say in the same way. Nothing when the row cannot be read.
std::optional<JobStatus> read_shared(const RowTexts& row) {
  const auto nodes = expand_node_list(at(row, RowField::kNodes));
  if (!parse_slurm_id(at(row, RowField::kId)) || !nodes) return std::nullopt;
  JobStatus job;
  job.id = at(row, RowField::kId);
  job.number = at(row, RowField::kNumber);
  job.name = at(row, RowField::kName);
  job.said = at(row, RowField::kState);
  job.state = parse_slurm_state(job.said);
  job.partition = at(row, RowField::kPartition);
  job.user = at(row, RowField::kUser);
  job.nodes = *nodes;
  job.submitted = parse_slurm_time(at(row, RowField::kSubmitted));
  job.started = parse_slurm_time(at(row, RowField::kStarted));
  if (has_ended(job.state)) job.ended = parse_slurm_time(at(row, RowField::kEnded));
  return job;
}

// Cuts an answer into rows, of which the last field is a number and ends with its line. Where that is not so,
// or where the row cannot be read, reading goes on with the next line.
template <class ReadOwn>
SlurmRows read_rows(std::string_view answer, std::string_view separator, const ReadOwn& read_own) {
  SlurmRows rows;
  RowTexts row;
  while (!answer.empty()) {
    row.clear();
    std::string_view rest = answer;
    while (row.size() + 1 < kFields) {
      const std::size_t end = rest.find(separator);
      if (end == std::string_view::npos) break;
      row.push_back(rest.substr(0, end));
      rest.remove_prefix(end + separator.size());
    }
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view last = rest.substr(0, end);
    const bool whole = row.size() + 1 == kFields && is_number(last) && row.front() == last;
    row.push_back(last);
    std::optional<JobStatus> job = whole ? read_shared(row) : std::nullopt;
    const std::string_view line = answer.substr(0, answer.find('\n'));
    if (job) {
      read_own(row, *job);
      rows.jobs.push_back(std::move(*job));
    } else if (++rows.unread == 1) {
      rows.first_unread = with_plain_separators(line, separator);
    }
    answer = whole ? rest.substr(std::min(end + 1, rest.size()))
                   : answer.substr(std::min(line.size() + 1, answer.size()));
  }
  return rows;
}

// How a component's state counts among those of its job: the highest is the job's.
int weight_of(JobState state) {
  switch (state) {
    case JobState::kDone:
      return 0;
    case JobState::kUnknown:
      return 1;
    case JobState::kCancelled:
      return 2;
    case JobState::kPreempted:
      return 3;
    case JobState::kTimedOut:
      return 4;
    case JobState::kFailed:
      return 5;
    case JobState::kOutOfMemory:
      return 6;
    case JobState::kNodeFailed:
      return 7;
    case JobState::kEnding:
      return 8;
    case JobState::kRunning:
      return 9;
    case JobState::kSuspended:
      return 10;
    case JobState::kPending:
      return 11;
  }
  unreachable();
}

// The value of `key` in "key=value key=value ...", up to the next space; nothing where there is no such key.
std::optional<std::string_view> value_of(std::string_view text, std::string_view key) {
  for (std::size_t from = 0;;) {
    const std::size_t found = text.find(key, from);
    if (found == std::string_view::npos) return std::nullopt;
    const std::size_t equals = found + key.size();
    const bool starts = found == 0 || text[found - 1] == ' ';
    if (starts && equals < text.size() && text[equals] == '=') {
      const std::string_view value = text.substr(equals + 1);
      return value.substr(0, value.find(' '));
    }
    from = equals;
  }
}

std::vector<std::string> listed(std::string_view text) {
  std::vector<std::string> names;
  if (text.empty() || text == "(null)") return names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) names.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

// "gpu:a10:4(S:0-1),gpu:4,nic:2"
void read_gres(std::string_view gres, SchedulerNode& node) {
  // Commas inside of parentheses belong to sockets: "gpu:a10:4(S:0,1)".
  int depth = 0;
  std::string entry;
  const auto take = [&] {
    if (!entry.starts_with("gpu:")) return;
    const std::size_t colon = entry.rfind(':');
    const std::string_view count = std::string_view(entry).substr(colon + 1);
    if (!is_number(count)) return;
    node.gpus += number_of(count);
    if (colon > 4 && node.gpu_type.empty()) node.gpu_type = entry.substr(4, colon - 4);
  };
  for (const char byte : gres) {
    if (byte == '(') ++depth;
    if (byte == ',' && depth == 0) {
      take();
      entry.clear();
    } else if (depth == 0) {
      entry += byte;
    }
    if (byte == ')') --depth;
  }
  take();
}

}  // namespace

std::string squeue_format(std::string_view separator) {
  std::string text;
  for (const std::string_view field : kQueueFields) {
    if (!text.empty()) text += separator;
    text += field;
  }
  return text;
}

std::string_view sacct_format() {
  return kSacctFormat;
}

SlurmRows parse_squeue(std::string_view answer, std::string_view separator) {
  return read_rows(answer, separator, [](const RowTexts& row, JobStatus& job) {
    const std::string_view reason = at(row, RowField::kOwn);
    if (reason != "None") job.reason = reason;
    job.elapsed = parse_slurm_duration(at(row, RowField::kElapsed)).value_or(std::chrono::seconds(0));
    job.limit = parse_slurm_duration(at(row, RowField::kLimit));
  });
}

SlurmRows parse_sacct(std::string_view answer, std::string_view separator) {
  return read_rows(answer, separator, [](const RowTexts& row, JobStatus& job) {
    const auto exit = parse_slurm_exit(at(row, RowField::kOwn));
    if (exit && has_ended(job.state)) {
      job.exit_code = exit->code;
      job.signal = exit->signal;
    }
    job.elapsed = std::chrono::seconds(number_of(at(row, RowField::kElapsed)));
    if (const std::string_view limit = at(row, RowField::kLimit); is_number(limit))
      job.limit = std::chrono::minutes(number_of(limit));
  });
}

JobStatus joined_job(std::string id, std::vector<JobStatus> components) {
  JobStatus job = components.front();
  job.id = std::move(id);
  for (const JobStatus& part : components) {
    if (weight_of(part.state) > weight_of(job.state)) {
      job.state = part.state;
      job.said = part.said;
      job.reason = part.reason;
      job.exit_code = part.exit_code;
      job.signal = part.signal;
    }
    job.elapsed = std::max(job.elapsed, part.elapsed);
    job.ended = std::max(job.ended, part.ended);
    job.restarts = std::max(job.restarts, part.restarts);
    // Runs of an array may share nodes.
    for (const std::string& node : part.nodes)
      if (std::ranges::find(job.nodes, node) == job.nodes.end()) job.nodes.push_back(node);
    if (job.partition.find(part.partition) == std::string::npos) job.partition += "," + part.partition;
  }
  if (!has_ended(job.state)) job.ended.reset();
  job.components = std::move(components);
  return job;
}

std::vector<JobStatus> with_components(std::vector<JobStatus> rows) {
  std::vector<std::vector<JobStatus>> groups;
  std::map<std::string, std::size_t> leaders;  // of heterogeneous jobs: index of the group
  for (JobStatus& row : rows) {
    const auto id = parse_slurm_id(row.id);
    if (!id || id->part.empty()) {
      groups.emplace_back().push_back(std::move(row));
      continue;
    }
    const auto [leader, is_new] = leaders.try_emplace(id->job, groups.size());
    if (is_new) groups.emplace_back();
    groups[leader->second].push_back(std::move(row));
  }
  std::vector<JobStatus> jobs;
  for (std::vector<JobStatus>& group : groups) {
    const auto id = parse_slurm_id(group.front().id);
    if (!id || id->part.empty()) {
      jobs.push_back(std::move(group.front()));
      continue;
    }
    const auto part_of = [](const JobStatus& row) { return number_of(parse_slurm_id(row.id)->part); };
    std::ranges::stable_sort(group, {}, part_of);
    jobs.push_back(joined_job(id->job, std::move(group)));
  }
  return jobs;
}

std::optional<SlurmDetails> parse_scontrol_job(std::string_view answer, std::string_view name) {
  const std::string before = format("JobName={} ", name);
  const std::size_t at_name = answer.find(before);
  const auto id = value_of(answer.substr(0, at_name), "JobId");
  if (at_name == std::string_view::npos || !id || !is_number(*id)) return std::nullopt;
  const std::string_view rest = answer.substr(at_name + before.size());
  const auto restarts = value_of(rest, "Restarts");
  const auto exit = parse_slurm_exit(value_of(rest, "ExitCode").value_or(""));
  if (!restarts || !is_number(*restarts) || !exit) return std::nullopt;
  SlurmDetails details{.id = std::string(*id),
                       .restarts = number_of(*restarts),
                       .may_requeue = value_of(rest, "Requeue") == "1",
                       .exit_code = exit->code,
                       .signal = exit->signal};
  if (auto excluded = expand_node_list(value_of(rest, "ExcNodeList").value_or("")))
    details.excluded = std::move(*excluded);
  return details;
}

std::vector<SchedulerNode> parse_scontrol_nodes(std::string_view answer) {
  std::vector<SchedulerNode> nodes;
  for (std::size_t begin = 0; begin < answer.size();) {
    const std::size_t end = std::min(answer.find('\n', begin), answer.size());
    const std::string_view line = answer.substr(begin, end - begin);
    begin = end + 1;
    const auto name = value_of(line, "NodeName");
    if (!name || !line.starts_with("NodeName=")) continue;
    SchedulerNode node{.name = std::string(*name)};
    node.partitions = listed(value_of(line, "Partitions").value_or(""));
    for (const char byte : value_of(line, "State").value_or("")) node.state += to_lower(byte);
    node.cpus = number_of(value_of(line, "CPUTot").value_or(""));
    if (const auto megabytes = value_of(line, "RealMemory"); megabytes && is_number(*megabytes))
      node.memory = Bytes{number_of(*megabytes) * 1024 * 1024};
    node.features = listed(value_of(line, "AvailableFeatures").value_or(""));
    read_gres(value_of(line, "Gres").value_or(""), node);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

bool is_bad_node_state(std::string_view state) {
  constexpr std::array<std::string_view, 6> kBad{"down", "fail", "drain", "not_responding", "error", "*"};
  return std::ranges::any_of(
      kBad, [&](std::string_view word) { return state.find(word) != std::string_view::npos; });
}

std::vector<std::string> failed_nodes_said(std::string_view output) {
  constexpr std::string_view kSaid = "srun: error: Node failure on ";
  std::vector<std::string> names;
  for (std::size_t from = 0;;) {
    const std::size_t found = output.find(kSaid, from);
    if (found == std::string_view::npos) return names;
    from = found + kSaid.size();
    // A line of srun, not one that a rank printed with these words inside.
    if (found > 0 && output[found - 1] != '\n') continue;
    const std::string_view list = output.substr(from, output.find_first_of(" \n", from) - from);
    for (std::string& name : expand_node_list(list).value_or(std::vector<std::string>()))
      if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
}

}  // namespace nadi::inline jobs
