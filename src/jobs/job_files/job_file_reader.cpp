#include <algorithm>
#include <array>

#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/json_file.h"
#include "nadi/base/mapped_file.h"
#include "nadi/base/message_text.h"
#include "nadi/base/nearest.h"
#include "nadi/base/number_ranges.h"
#include "nadi/base/parse_duration.h"
#include "nadi/cluster/cluster_values.h"
#include "nadi/job_files/job_comments.h"
#include "nadi/job_files/job_file.h"
#include "nadi/job_files/job_keys.h"
#include "nadi/job_files/job_overrides.h"
#include "nadi/job_files/job_time.h"
#include "nadi/job_files/job_variables.h"
#include "nadi/shell/variable_name.h"

namespace nadi::inline jobs {
namespace {

namespace fs = std::filesystem;

// As in the schema.
constexpr std::int64_t kMostNodes = 100'000;
constexpr std::int64_t kMostPerNode = 4096;
constexpr std::int64_t kMostProcessors = 65'536;
constexpr std::int64_t kMostRestarts = 1'000'000;
constexpr std::int64_t kMostStep = 999'999'999'999;
constexpr std::int64_t kMostGroups = 128;
constexpr std::int64_t kLastPort = 65535;
constexpr std::int64_t kMostProfiledRanks = 1 << 20;

bool holds_control(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

// A text that a line of a script for sbatch can carry.
std::string line_at(const JsonValue& value) {
  const std::string& text = value.as_string();
  if (text.empty()) throw error_at(value, format("'{}' is empty", value.path()));
  if (holds_control(text))
    throw error_at(value, format("'{}' holds control characters", value.path()),
                   "a line of a script for sbatch cannot carry newlines and tabs");
  return text;
}

std::string word_at(const JsonValue& value) {
  const std::string text = line_at(value);
  if (text.find(' ') != std::string::npos) throw error_at(value, format("'{}' holds a space", value.path()));
  return text;
}

fs::path path_at(const JsonValue& value, const fs::path& folder) {
  const std::string text = line_at(value);
  if (text.find('\\') != std::string::npos)
    throw error_at(value, format("'{}' holds a backslash", value.path()),
                   "Slurm does not take paths with backslashes");
  return (folder / text).lexically_normal();
}

// What a program can get as an argument: no NUL.
std::string argument_at(const JsonValue& value) {
  const std::string& text = value.as_string();
  if (text.find('\0') != std::string::npos)
    throw error_at(value, format("'{}' holds a NUL, which no argument of a program can hold", value.path()));
  return text;
}

std::string filled_argument_at(const JsonValue& value) {
  if (value.as_string().empty()) throw error_at(value, format("'{}' is empty", value.path()));
  return argument_at(value);
}

template <typename Read>
auto list_at(const JsonValue& list, const Read& read) {
  std::vector<decltype(read(list))> values;
  for (const JsonValue& value : list.elements()) values.push_back(read(value));
  return values;
}

std::string variable_at(const JsonValue& place, std::string_view name) {
  if (!is_variable_name(name))
    throw error_at_key(place, format("{} is no name of a variable", quote_for_message(name)),
                       "letters, digits and '_', no digit in front");
  for (const JobVariable& variable : job_variables())
    if (variable.name == name)
      throw error_at_key(place, format("'{}' is set by the job itself: {}", name, variable.meaning));
  return std::string(name);
}

template <typename Enumerator, std::size_t N>
void read_choice(const JsonValue& object, std::string_view key, const std::array<Enumerator, N>& all,
                 Enumerator& into) {
  const auto value = object.find(key);
  if (!value) return;
  std::vector<std::string_view> names;
  for (const Enumerator one : all) {
    names.push_back(to_string(one));
    if (names.back() == value->as_string()) {
      into = one;
      return;
    }
  }
  throw error_at(*value,
                 format("'{}' does not take {}", value->path(), quote_for_message(value->as_string())),
                 did_you_mean(value->as_string(), names));
}

void read_text(const JsonValue& object, std::string_view key, std::string& into) {
  if (const auto value = object.find(key)) into = line_at(*value);
}

void read_flag(const JsonValue& object, std::string_view key, bool& into) {
  if (const auto value = object.find(key)) into = value->as_bool();
}

std::chrono::seconds seconds_at(const JsonValue& value) {
  const auto time = parse_duration(value.as_string());
  constexpr std::int64_t kSecond = 1'000'000'000;
  // A bare "0" and units that are finer than a millisecond are no durations of jobs.
  const std::string_view text = value.as_string();
  const bool has_unit = text.ends_with("s") || text.ends_with("min");
  if (!time || !has_unit || text.ends_with("ns") || text.ends_with("us"))
    throw error_at(value, format("'{}' is {}, not a duration", value.path(), quote_for_message(text)),
                   "for example \"120 s\" or \"2 min\"");
  if (time->count() % kSecond != 0)
    throw error_at(
        value, format("'{}' is {}, not a whole number of seconds", value.path(), quote_for_message(text)));
  return std::chrono::seconds(time->count() / kSecond);
}

JobRun read_run(const JsonValue& object, const fs::path& folder) {
  object.refuse_keys_except(kJobRunKeys);
  JobRun run;
  std::vector<std::string_view> given;
  for (const JobRunKind kind : {JobRunKind::kTrain, JobRunKind::kMegatron, JobRunKind::kCommand}) {
    const auto words = object.find(to_string(kind));
    if (!words) continue;
    given.push_back(to_string(kind));
    run.kind = kind;
    run.words = list_at(*words, argument_at);
    if (run.words.empty()) throw error_at(*words, format("'{}' has no words", words->path()));
  }
  if (given.size() != 1)
    throw error_at_key(object,
                       given.empty() ? "'run' says nothing that runs"
                                     : format("'run' has '{}' and '{}'", given[0], given[1]),
                       "exactly one of train, megatron and command");
  if (const auto program = object.find("program")) run.program = filled_argument_at(*program);
  if (const auto path = object.find("folder")) run.folder = path_at(*path, folder);
  if (const auto setup = object.find("setup")) run.setup = list_at(*setup, filled_argument_at);
  return run;
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// On top of what is there already: the values of the whole job, for a group.
void read_nodes(const JsonValue& object, JobNodes& nodes) {
  const auto count = [&](std::string_view key, std::int64_t least, std::int64_t most, std::int64_t& into) {
    if (const auto value = object.find(key)) into = count_of(*value, least, most);
  };
  count("nodes", 1, kMostNodes, nodes.nodes);
  count("ranks_per_node", 1, kMostPerNode, nodes.ranks_per_node);
  count("gpus_per_node", 0, kMostPerNode, nodes.gpus_per_node);
  count("cpus_per_rank", 1, kMostProcessors, nodes.cpus_per_rank);
  if (const auto value = object.find("gpu_type")) nodes.gpu_type = word_at(*value);
  if (const auto value = object.find("memory")) nodes.memory = size_of_value(*value);
  if (const auto value = object.find("partition")) {
    nodes.partitions = split_at_commas(line_at(*value));
    for (const std::string& name : nodes.partitions)
      if (name.empty()) throw error_at(*value, format("'{}' has an empty name", value->path()));
  }
  read_text(object, "constraint", nodes.constraint);
  if (const auto list = object.find("exclude")) nodes.exclude = list_at(*list, word_at);
  if (const auto list = object.find("nodelist")) nodes.nodelist = list_at(*list, word_at);
}

JobContainer read_container(const JsonValue& object) {
  constexpr std::array kKinds{ContainerKind::kNone, ContainerKind::kPyxis, ContainerKind::kEnroot,
                              ContainerKind::kApptainer, ContainerKind::kDocker};
  object.refuse_keys_except(kJobContainerKeys);
  JobContainer container;
  object.at("kind");
  read_choice(object, "kind", kKinds, container.kind);
  if (const auto value = object.find("image")) container.image = filled_argument_at(*value);
  if (const auto list = object.find("mounts")) container.mounts = list_at(*list, filled_argument_at);
  if (const auto value = object.find("folder")) container.folder = filled_argument_at(*value);
  return container;
}

JobEnvironment read_environment(const JsonValue& object) {
  object.refuse_keys_except(kJobEnvironmentKeys);
  JobEnvironment environment;
  read_flag(object, "inherit", environment.inherit);
  if (const auto list = object.find("pass"))
    environment.pass =
        list_at(*list, [](const JsonValue& value) { return variable_at(value, value.as_string()); });
  if (const auto set = object.find("set"))
    for (const auto& [name, value] : set->items())
      environment.set.emplace_back(variable_at(value, name), argument_at(value));
  return environment;
}

std::optional<StepRange> steps_at(const JsonValue& value) {
  const std::string& text = value.as_string();
  if (text == "all") return std::nullopt;
  const auto range = parse_step_range(text);
  if (!range)
    throw error_at(value, format("'{}' is {}, not a range of steps", value.path(), quote_for_message(text)),
                   "\"10\", \"10-12\" or \"all\", counted from 1");
  return range;
}

std::vector<std::int64_t> ranks_at(const JsonValue& value) {
  const std::string& text = value.as_string();
  std::vector<std::int64_t> ranks;
  if (text == "all") return ranks;
  const auto wrong = [&] {
    return error_at(value, format("'{}' is {}, not a list of ranks", value.path(), quote_for_message(text)),
                    "\"0\", \"0-3,8\" or \"all\"");
  };
  for (const std::string& part : split_at_commas(text)) {
    const std::size_t dash = part.find('-');
    const auto number = [&](const std::string& digits) {
      if (digits.empty() || digits.size() > 7 || digits.find_first_not_of("0123456789") != std::string::npos)
        throw wrong();
      return std::int64_t{std::stoll(digits)};
    };
    const std::int64_t first = number(part.substr(0, dash));
    const std::int64_t last = dash == std::string::npos ? first : number(part.substr(dash + 1));
    if (first > last || last >= kMostProfiledRanks) throw wrong();
    for (std::int64_t rank = first; rank <= last; ++rank) ranks.push_back(rank);
  }
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

ProfilerUse read_profiler(const JsonValue& object, std::vector<std::int64_t> ranks) {
  object.refuse_keys_except(kJobProfilerKeys);
  ProfilerUse use{.ranks = std::move(ranks)};
  if (const auto value = object.find("steps")) use.steps = steps_at(*value);
  if (const auto value = object.find("ranks")) use.ranks = ranks_at(*value);
  return use;
}

JobProfile read_profile(const JsonValue& object) {
  object.refuse_keys_except(kJobProfileKeys);
  JobProfile profile;
  if (const auto value = object.find("nsys")) profile.nsys = read_profiler(*value, {});
  if (const auto value = object.find("ncu")) profile.ncu = read_profiler(*value, {0});
  if (const auto value = object.find("trace")) profile.trace = read_profiler(*value, {});
  return profile;
}

JobRequeue read_requeue(const JsonValue& object) {
  object.refuse_keys_except(kJobRequeueKeys);
  JobRequeue requeue;
  if (const auto value = object.find("before_end")) requeue.before_end = seconds_at(*value);
  if (const auto value = object.find("signal")) {
    requeue.signal = value->as_string();
    if (std::ranges::find(kJobSignals, requeue.signal) == kJobSignals.end())
      throw error_at(*value,
                     format("'{}' does not take {}", value->path(), quote_for_message(requeue.signal)),
                     did_you_mean(requeue.signal, kJobSignals));
  }
  if (const auto value = object.find("max_restarts"))
    requeue.max_restarts = count_of(*value, 0, kMostRestarts);
  read_flag(object, "on_failure", requeue.on_failure);
  read_flag(object, "exclude_failed_nodes", requeue.exclude_failed_nodes);
  return requeue;
}

JobSweep read_sweep(const JsonValue& object) {
  object.refuse_keys_except(kJobSweepKeys);
  JobSweep sweep;
  for (const auto& [name, list] : object.at("values").items()) {
    sweep.values.emplace_back(variable_at(list, name), list_at(list, argument_at));
    if (sweep.values.back().second.empty()) throw error_at(list, format("'{}' has no values", list.path()));
  }
  if (sweep.values.empty()) throw error_at(object.at("values"), "'sweep.values' names nothing");
  if (const auto value = object.find("at_once")) sweep.at_once = count_of(*value, 0, kMostRestarts);
  return sweep;
}

void check_job_version(const JsonValue& root) {
  if (!root.is_object()) throw error_at(root, "a job is a JSON object");
  if (!root.has("nadi_job"))
    throw error_at(root, "key 'nadi_job' is missing: the version of the format",
                   format("\"nadi_job\": {}", kJobFileVersion));
  const std::int64_t version = root.at("nadi_job").as_int64();
  if (version > kJobFileVersion)
    throw error_at(
        root.at("nadi_job"),
        format("version {} of the format; this program knows versions up to {}", version, kJobFileVersion),
        "a newer version of Nadi wrote it");
  if (version < 1) throw error_at(root.at("nadi_job"), format("there is no version {}", version));
}

JobFile read_job_root(const JsonValue& root, const fs::path& folder) {
  check_job_version(root);
  root.refuse_keys_except(kJobFileKeys);
  JobFile job;
  read_text(root, "name", job.name);
  read_choice(root, "scheduler", std::array{SchedulerKind::kSlurm, SchedulerKind::kLocal}, job.scheduler);
  job.run = read_run(root.at("run"), folder);
  if (const auto plan = root.find("plan")) job.plan = path_at(*plan, folder);
  JobNodes common;
  read_nodes(root, common);
  job.groups = {common};
  if (const auto groups = root.find("groups")) {
    job.groups.clear();
    for (const JsonValue& object : groups->elements()) {
      object.refuse_keys_except(kJobGroupKeys);
      JobNodes group = common;
      read_text(object, "kind", group.kind);
      read_nodes(object, group);
      job.groups.push_back(std::move(group));
    }
    if (job.groups.empty()) throw error_at(*groups, "'groups' has no group");
    if (std::ssize(job.groups) > kMostGroups)
      throw error_at(*groups, format("{} groups; the limit is {}", job.groups.size(), kMostGroups));
  }
  read_choice(root, "processes", std::array{JobProcesses::kRanks, JobProcesses::kNodes}, job.processes);
  read_choice(root, "mixing", std::array{JobMixing::kOneJob, JobMixing::kJobs}, job.mixing);
  if (const auto value = root.find("mpi")) job.mpi = word_at(*value);
  if (const auto value = root.find("master_address")) job.master_address = word_at(*value);
  if (const auto value = root.find("master_port")) job.master_port = count_of(*value, 1, kLastPort);
  read_text(root, "account", job.account);
  read_text(root, "qos", job.qos);
  read_text(root, "reservation", job.reservation);
  read_text(root, "dependency", job.dependency);
  if (const auto value = root.find("time")) {
    job.time = parse_job_time(value->as_string());
    if (!job.time)
      throw error_at(*value,
                     format("'{}' is {}, not a time", value->path(), quote_for_message(value->as_string())),
                     "for example \"2:00:00\", \"1-12:00:00\" or \"30\", which is minutes");
  }
  read_flag(root, "exclusive", job.exclusive);
  if (const auto list = root.find("options")) job.options = list_at(*list, line_at);
  if (const auto value = root.find("container")) job.container = read_container(*value);
  if (const auto value = root.find("environment")) job.environment = read_environment(*value);
  if (const auto value = root.find("profile")) job.profile = read_profile(*value);
  if (const auto value = root.find("requeue")) job.requeue = read_requeue(*value);
  if (const auto value = root.find("sweep")) job.sweep = read_sweep(*value);
  if (const auto value = root.find("sample_every")) job.sample_every = seconds_at(*value);
  if (const auto value = root.find("comm_timeout")) job.comm_timeout = seconds_at(*value);
  job.outputs = folder / kDefaultJobOutputs;
  if (const auto value = root.find("outputs")) job.outputs = path_at(*value, folder);
  return job;
}

JobFile checked(const JsonValue& root, const fs::path& path) {
  JobFile job = read_job_root(root, fs::absolute(path).lexically_normal().parent_path());
  try {
    check_job(job);
  } catch (const Error& error) {
    throw input_error({.file = root.file()}, error.message(), error.hint());
  }
  return job;
}

}  // namespace

std::optional<StepRange> parse_step_range(std::string_view text) {
  const auto number = [](std::string_view digits) -> std::int64_t {
    if (digits.empty() || digits.size() > 12 || digits[0] == '0' ||
        digits.find_first_not_of("0123456789") != std::string_view::npos)
      return 0;
    return std::stoll(std::string(digits));
  };
  const std::size_t dash = text.find('-');
  const std::int64_t first = number(text.substr(0, dash));
  const std::int64_t last = dash == std::string_view::npos ? first : number(text.substr(dash + 1));
  if (first < 1 || last < first || last > kMostStep) return std::nullopt;
  return StepRange{first, last};
}

JobFile parse_job_file(std::string text, const fs::path& path, const JobFileOptions& options) {
  const std::string plain = without_comments(std::move(text), path.string());
  const JsonDocument document = parse_json(plain, path.string());
  if (options.set.empty()) return checked(document.root(), path);
  const JsonDocument changed = parse_json(with_overrides(plain, options.set), path.string() + " with --set");
  try {
    return checked(changed.root(), path);
  } catch (const Error& error) {
    // A mistake of the file itself is shown where it stands in the file.
    try {
      checked(document.root(), path);
    } catch (const Error& own) {
      if (own.message() == error.message()) throw own;
    }
    throw;
  }
}

JobFile read_job_file(const fs::path& path, const JobFileOptions& options) {
  const FileKind kind = kind_of_file(path);
  if (!is_text(kind) && kind != FileKind::kUnknown) throw WrongFileKind(path.string(), kind, "a job");
  const MappedFile file(path);
  constexpr std::size_t kMostBytes = std::size_t{8} << 20;
  if (file.bytes().size() > kMostBytes)
    throw input_error({.file = path.string()}, "the file is larger than 8 MiB, too large for a job");
  return parse_job_file(std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()),
                        path, options);
}

}  // namespace nadi::inline jobs
