#include "nadi/job_scripts/rank_function.h"

#include <algorithm>
#include <numeric>

#include "nadi/base/error.h"
#include "nadi/job_files/job_variables.h"
#include "nadi/job_files/resumed_words.h"
#include "nadi/job_files/train_settings.h"
#include "nadi/shell/shell_quote.h"

namespace nadi::inline jobs {
namespace {

// A word with the job's variables in it: 'a b='"${RANK}".
std::string word_text(const std::string& word, const JobFile& job) {
  std::string text;
  for (const WordPart& part : word_parts(word, job))
    text += part.variable ? format("\"${{{}}}\"", part.text) : shell_quote(part.text);
  return text;
}

// The words of an array of bash, on several lines where one would be long. A flag and the word after it stay
// together, so that a reader (and a search) finds them side by side however long the paths are.
std::string word_list(const std::vector<std::string>& words, const JobFile& job, std::string_view indent) {
  constexpr std::size_t kWidth = 100;
  std::string text;
  std::size_t width = 0;
  bool after_flag = false;
  for (const std::string& word : words) {
    const std::string quoted = word_text(word, job);
    const bool is_flag = word.starts_with("--");
    if (width > 0 && width + quoted.size() > kWidth && (is_flag || !after_flag)) {
      text += "\n" + std::string(indent);
      width = 0;
    } else if (!text.empty()) {
      text += ' ';
    }
    text += quoted;
    width += quoted.size() + 1;
    after_flag = is_flag;
  }
  return text;
}

// What tells the ranks how they are watched (job/rank_watch.h), and PyTorch's where it does the same: its
// last collectives of each rank go to files, too, when a collective takes too long.
struct WatchVariable {
  std::string_view name;
  std::string value;  // as bash takes it
};
std::vector<WatchVariable> watch_variables(const JobFile& job) {
  std::vector<WatchVariable> variables;
  const bool usual = job.comm_timeout == JobFile{}.comm_timeout;
  if (job.run.kind == JobRunKind::kTrain) {
    if (!usual) variables.push_back({"NADI_COMM_TIMEOUT_MS", format("{}", job.comm_timeout.count() * 1000)});
    if (job.scheduler == SchedulerKind::kSlurm && job.ranks() > 1)
      variables.push_back({"NADI_BEAT_FOLDER", "\"$JOB_FOLDER/.beats.$RESTART_COUNT\""});
  }
  if (job.run.kind == JobRunKind::kMegatron && !usual && job.comm_timeout.count() > 0) {
    variables.push_back({"TORCH_NCCL_TRACE_BUFFER_SIZE", "2000"});
    variables.push_back({"TORCH_NCCL_DUMP_ON_TIMEOUT", "1"});
    variables.push_back({"TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "\"$JOB_FOLDER/nccl_trace_rank_\""});
  }
  return variables;
}

// The names of all variables that a container must be given.
std::vector<std::string> passed_names(const JobFile& job) {
  std::vector<std::string> names;
  for (const JobVariable& variable : job_variables())
    if (!variable.of_rank || job.processes == JobProcesses::kRanks) names.emplace_back(variable.name);
  for (const auto& [name, values] : job.sweep.values) names.push_back(name);
  for (const WatchVariable& variable : watch_variables(job)) names.emplace_back(variable.name);
  for (const auto& [name, value] : job.environment.set) names.push_back(name);
  for (const std::string& name : job.environment.pass) names.push_back(name);
  return names;
}

// Words in front of the command that make it run in a container. The folder of the job is there, too.
std::string container_words(const JobFile& job) {
  const JobContainer& container = job.container;
  const std::string folder = container.folder.empty() ? job.run.folder.string() : container.folder;
  const bool gpus =
      std::ranges::any_of(job.groups, [](const JobNodes& group) { return group.gpus_per_node > 0; });
  std::string words;
  const auto add = [&](const std::string& word) { words += " " + word; };
  const auto mounts = [&](std::string_view flag, bool with_outputs) {
    for (const std::string& mount : container.mounts) add(format("{} {}", flag, shell_quote(mount)));
    if (with_outputs) add(format("{} \"$JOB_FOLDER:$JOB_FOLDER\"", flag));
  };
  switch (container.kind) {
    case ContainerKind::kNone:
    case ContainerKind::kPyxis:
      return "";
    case ContainerKind::kEnroot:
      words = "enroot start --root --rw";
      mounts("-m", true);
      for (const std::string& name : passed_names(job)) add(format("-e {}", name));
      add("\"nadi-$JOB_ID\"");
      // It has no flag for the folder. That of the submission need not be in the image.
      if (!folder.empty())
        add(format("sh -c {} {}",
                   shell_quote(container.folder.empty() ? R"(cd -- "$0" 2>/dev/null; exec "$@")"
                                                        : R"(cd -- "$0" && exec "$@")"),
                   shell_quote(folder)));
      return words;
    case ContainerKind::kApptainer:
      words = "apptainer exec";
      if (gpus) add("--nv");
      mounts("-B", true);
      if (!folder.empty()) add(format("--pwd {}", shell_quote(folder)));
      add(shell_quote(container.image));
      return words;
    case ContainerKind::kDocker:
      // The first process of a container ignores signals that it does not handle: without --init, a cancelled
      // command would run on when docker itself has been killed.
      words = "docker run --rm --init --network=host --ipc=host --user \"$(id -u):$(id -g)\"";
      if (gpus) add("--gpus all");
      mounts("-v", true);
      if (!folder.empty()) add(format("-w {}", shell_quote(folder)));
      for (const std::string& name : passed_names(job)) add(format("-e {}", name));
      add(shell_quote(container.image));
      return words;
  }
  unreachable();
}

// "0|3|8", or "*" for all.
std::string rank_pattern(const ProfilerUse& use) {
  if (use.ranks.empty()) return "*";
  std::string pattern;
  for (const std::int64_t rank : use.ranks) pattern += format("{}{}", pattern.empty() ? "" : "|", rank);
  return pattern;
}

void add_profiler(ScriptText& script, const JobFile& job, std::string_view name, std::string_view node_name) {
  const bool nsys = name == "nsys";
  const ProfilerUse& use = nsys ? *job.profile.nsys : *job.profile.ncu;
  const bool per_rank = job.processes == JobProcesses::kRanks;
  script.line("  # A file for each {}, and another one for each start.", per_rank ? "rank" : "node");
  script.line("  mkdir -p -- \"$JOB_FOLDER/{}\"", name);
  script.line("  local profile=\"$JOB_FOLDER/{}/{}\"", name, per_rank ? "rank$RANK" : "node$NODE_RANK");
  script.line("  if ((RESTART_COUNT > 0)); then profile+=.start$RESTART_COUNT; fi");
  // In a container, the profiler is that of the image.
  if (job.container.kind == ContainerKind::kNone) {
    script.line("  if ! command -v {} >/dev/null; then", name);
    script.line(
        "    echo \"error: there is no {} on the PATH of {}, and the job is to be profiled with it\" >&2",
        name, node_name);
    script.line("    exit 127");
    script.line("  fi");
  }
  std::string words = nsys ? "nsys profile -s none -t nvtx,cuda" : "ncu --target-processes all";
  if (use.steps)
    words += nsys ? " --capture-range=cudaProfilerApi --capture-range-end=stop" : " --profile-from-start off";
  script.line("  case ${} in", per_rank ? "RANK" : "NODE_RANK");
  script.line("    {}) command=({} -o \"$profile\" \"${{command[@]}}\") ;;", rank_pattern(use), words);
  script.line("  esac");
}

// "--profile-ranks 0 3", or no word for all. Versions of Megatron-LM differ in what they do without the flag
// (rank 0 or all), so that it always gets numbers.
std::vector<std::string> profiled_ranks(const JobFile& job, std::vector<std::int64_t> ranks) {
  if (ranks.empty() && job.run.kind == JobRunKind::kMegatron) {
    ranks.resize(static_cast<std::size_t>(job.ranks()));
    std::iota(ranks.begin(), ranks.end(), 0);
  }
  std::vector<std::string> words;
  if (!ranks.empty()) words.emplace_back("--profile-ranks");
  for (const std::int64_t rank : ranks) words.push_back(format("{}", rank));
  return words;
}

// Megatron-LM's flags, which `nadi train` takes, too. They count steps from 0, and the last is not a part of
// them.
std::vector<std::string> step_flags(const JobFile& job, const ProfilerUse& use) {
  std::vector<std::string> words{"--profile", "--profile-step-start", format("{}", use.steps->first - 1),
                                 "--profile-step-end", format("{}", use.steps->last)};
  for (std::string& word : profiled_ranks(job, use.ranks)) words.push_back(std::move(word));
  return words;
}

std::vector<std::string> profiler_flags(const JobFile& job) {
  const auto& use = job.profile.nsys ? job.profile.nsys : job.profile.ncu;
  if (job.run.kind == JobRunKind::kCommand) return {};
  std::vector<std::string> words;
  if (use && use->steps) words = step_flags(job, *use);
  if (!job.profile.trace) return words;
  const StepRange steps = *job.profile.trace->steps;
  // The flags of `nadi train` trace all ranks.
  if (job.run.kind == JobRunKind::kMegatron || !job.profile.trace->ranks.empty()) {
    words = step_flags(job, *job.profile.trace);
    words.insert(words.begin() + 1, "--use-pytorch-profiler");
    return words;
  }
  const std::int64_t warmup = std::min<std::int64_t>(1, steps.first - 1);
  return {"--enable-tracing",   "--trace-wait",   format("{}", steps.first - 1 - warmup),    "--trace-warmup",
          format("{}", warmup), "--trace-active", format("{}", steps.last - steps.first + 1)};
}

// A folder for each start: `nadi train` overwrites nothing.
void add_trace_folder(ScriptText& script, const JobFile& job) {
  script.line("  local trace=\"$JOB_FOLDER/trace\"");
  script.line("  if ((RESTART_COUNT > 0)); then trace+=.start$RESTART_COUNT; fi");
  script.line("  mkdir -p -- \"$trace\"");
  script.line("  command+=({} \"$trace\")",
              job.run.kind == JobRunKind::kMegatron ? "--tensorboard-dir" : "--trace-output-dir");
}

bool has_flag(const std::vector<std::string>& words, std::string_view flag) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    return word == flag || word.starts_with(std::string(flag) + "=");
  });
}

// On one machine `nadi launch` starts the ranks; under Slurm each process is one.
std::vector<std::string> train_words(const JobFile& job) {
  std::vector<std::string> words{job.run.program.empty() ? "nadi" : job.run.program};
  if (job.scheduler == SchedulerKind::kLocal && job.ranks() > 1)
    words.insert(words.end(), {"launch", "-n", format("{}", job.ranks()), "--no-prefix"});
  const JobFile resumed = job.requeue.max_restarts > 0 ? job_to_resume(job) : job;
  words.emplace_back("train");
  words.insert(words.end(), resumed.run.words.begin(), resumed.run.words.end());
  if (!job.plan.empty() && !has_flag(words, "--plan"))
    words.insert(words.end(), {"--plan", job.plan.string()});
  return words;
}

// Names as the modified Megatron-LM prints them, so that readers of its logs read ours.
void add_heading(ScriptText& script, const JobFile& job) {
  const bool per_rank = job.processes == JobProcesses::kRanks;
  script.line("  # The settings in effect, once for each node and start.");
  script.line("  {}{{", per_rank ? "if ((LOCAL_RANK == 0)); then " : "");
  script.line("    echo \"SLURM_RESTART_COUNT: $RESTART_COUNT\" >&2");
  script.line("    echo \"SLURM_RESTART_COUNT: $RESTART_COUNT\"");
  for (const std::string_view name :
       {"JOB_ID", "NODE_RANK", "NNODES", "NPROC_PER_NODE", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
    script.line("    echo \"{}: ${}\"", name, name);
  for (const auto& [name, values] : job.sweep.values) script.line("    echo \"{}: ${}\"", name, name);
  for (const TrainSetting& setting : train_settings(job))
    script.line("    echo {}{}", shell_quote(setting.name + ": "), word_text(setting.value, job));
  script.line("  }}{}", per_rank ? "; fi" : "");
}

}  // namespace

std::string_view save_signal(const JobFile& job) {
  if (!job.requeue.signal.empty()) return job.requeue.signal;
  return job.run.kind == JobRunKind::kTrain && job.scheduler == SchedulerKind::kSlurm ? "USR1" : "TERM";
}

std::vector<std::string> job_words(const JobFile& job) {
  std::vector<std::string> words;
  switch (job.run.kind) {
    case JobRunKind::kTrain:
      words = train_words(job);
      return words;
    case JobRunKind::kMegatron:
      words = {job.run.program.empty() ? "python3" : job.run.program, "-u"};
      words.insert(words.end(), job.run.words.begin(), job.run.words.end());
      // In whole minutes, at least one.
      if (job.comm_timeout != JobFile{}.comm_timeout && job.comm_timeout.count() > 0 &&
          !has_flag(words, "--distributed-timeout-minutes"))
        words.insert(words.end(),
                     {"--distributed-timeout-minutes", format("{}", (job.comm_timeout.count() + 59) / 60)});
      return words;
    case JobRunKind::kCommand:
      return job.run.words;
  }
  unreachable();
}

void add_sweep_values(ScriptText& script, const JobFile& job, std::string_view run) {
  if (job.sweep.values.empty()) return;
  script.part("The values of this run of the sweep.");
  script.line("case {} in", run);
  for (std::int64_t number = 0; number < job.sweep.runs(); ++number) {
    std::string settings;
    std::int64_t rest = number;
    // The last name changes fastest.
    for (auto entry = job.sweep.values.rbegin(); entry != job.sweep.values.rend(); ++entry) {
      const auto count = std::ssize(entry->second);
      const std::string& value = entry->second[static_cast<std::size_t>(rest % count)];
      settings = format(" {}={}", entry->first, shell_quote(value)) + settings;
      rest /= count;
    }
    script.line("  {}) export{} ;;", number, settings);
  }
  script.line("  *) echo \"nadi: the sweep has no run {}\" >&2; exit 1 ;;", run);
  script.line("esac");
}

void add_rank_function(ScriptText& script, const JobFile& job, const RankSource& source) {
  const bool per_rank = job.processes == JobProcesses::kRanks;
  script.part(per_rank ? "What each rank does." : "What each node does.");
  script.line("run_rank() {{");
  script.line("  export NPROC_PER_NODE=$1");
  script.line("  local name node=0");
  script.line("  for name in $JOB_NODES; do");
  script.line("    if [[ $name == \"{}\" ]]; then break; fi", source.node_name);
  script.line("    node=$((node + 1))");
  script.line("  done");
  script.line("  export NODE_RANK=$((node + {}))", source.first_node);
  if (per_rank) {
    script.line("  export RANK=$(({} + {})) LOCAL_RANK={}", source.rank, source.first_rank,
                source.local_rank);
  }
  script.line("  # Ranks of one node append to the same files.");
  script.line("  exec >>\"$JOB_FOLDER/{}.out\" 2>>\"$JOB_FOLDER/{}.err\" || exit", source.node_name,
              source.node_name);
  add_heading(script, job);
  for (const WatchVariable& variable : watch_variables(job))
    script.line("  export {}={}", variable.name, variable.value);
  for (const auto& [name, value] : job.environment.set)
    script.line("  export {}={}", name, shell_quote(value));
  if (!job.run.folder.empty() && job.container.kind != ContainerKind::kPyxis)
    script.line("  cd -- {} || exit", shell_quote(job.run.folder.string()));
  for (const std::string& line : job.run.setup) script.line("  eval {} || exit", shell_quote(line));
  std::vector<std::string> words = job_words(job);
  const std::vector<std::string> flags = profiler_flags(job);
  words.insert(words.end(), flags.begin(), flags.end());
  script.line("  local command=({})", word_list(words, job, "                 "));
  if (job.profile.trace) add_trace_folder(script, job);
  if (job.profile.nsys) add_profiler(script, job, "nsys", source.node_name);
  if (job.profile.ncu) add_profiler(script, job, "ncu", source.node_name);
  const std::string container = container_words(job);
  script.line("  exec {}\"${{command[@]}}\"", container.empty() ? "-- " : container + " ");
  script.line("}}");
}

}  // namespace nadi::inline jobs
