// nadi launch
#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/read_error.h"
#include "nadi/cli/comm_timeout_flag.h"
#include "nadi/cli/commands.h"
#include "nadi/cli/launch_nodes.h"
#include "nadi/cli/sense_limits.h"
#include "nadi/cli/slow_flag.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/command_line/help.h"
#include "nadi/launch/host_list.h"
#include "nadi/launch/mpirun_command.h"
#include "nadi/launch/slow_ranks.h"
#include "nadi/launched/launched_job.h"
#include "nadi/plan/plan_file.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/output_width.h"

namespace nadi::inline show {
namespace {

// The flags of the launched command, so that a mistake is printed once and before any rank starts.
Flags parse_inner(const CommandEntry& entry, const std::vector<std::string>& words) {
  Flags inner;
  entry.add_flags(inner);
  try {
    inner.parse(std::span(words).subspan(word_count(entry)));
  } catch (const Error& error) {
    throw Error{error.kind(), error.place(), format("{}: {}", entry.name, error.message()),
                error.hint().empty() ? format("see 'nadi {} --help'", entry.name) : error.hint()};
  }
  return inner;
}

// torchrun's lines have the name of a script here.
void refuse_python(const std::string& word) {
  if (!word.ends_with(".py")) return;
  throw usage_error(format("'{}' is a program of Python; launch runs commands of nadi", word),
                    "write 'train' in its place, with the same flags");
}

// The plan file of the job: that of launch, or of the launched command.
std::optional<std::string> plan_for(const Flags& flags, const Flags& inner, const CommandEntry& entry) {
  const bool takes_plan = inner.find("--plan") != nullptr;
  const auto own = flags.text("--plan");
  const auto of_command = takes_plan ? inner.text("--plan") : std::nullopt;
  if (own && !takes_plan) throw usage_error(format("{} takes no --plan", entry.name), "train takes one");
  if (own && of_command && *own != *of_command)
    throw usage_error(
        format("--plan {} and '{} --plan {}' contradict each other", *own, entry.name, *of_command),
        "give one of them");
  return own ? own : of_command;
}

// That of launch, or of the launched command.
std::chrono::milliseconds timeout_for(const Flags& flags, const Flags& inner, const CommandEntry& entry) {
  const auto own = given_comm_timeout(flags), of_command = given_comm_timeout(inner);
  if (own && of_command && *own != *of_command)
    throw usage_error(format("--comm-timeout and that of {} contradict each other", entry.name),
                      "give one of them");
  return of_command ? *of_command : comm_timeout_of(flags);
}

// Ranks of this machine, where the job has several.
std::optional<std::int64_t> ranks_asked(const Flags& flags, const LaunchNodes& nodes) {
  const auto ranks = flags.integer("--ranks");
  if (nodes.nodes > 1 && ranks)
    throw usage_error(
        "--ranks counts the ranks of a job on one machine or on --hosts; with --nnodes it is "
        "--nproc-per-node");
  if (ranks && nodes.ranks && *ranks != *nodes.ranks)
    throw usage_error(
        format("--ranks {} and --nproc-per-node {} contradict each other", *ranks, *nodes.ranks),
        "give one of them");
  return nodes.ranks ? nodes.ranks : ranks;
}

JobOptions resolve(const Flags& flags, const std::vector<std::string>& words, const LaunchNodes& nodes,
                   const std::optional<std::string>& plan, const std::optional<std::int64_t>& planned) {
  auto ranks = ranks_asked(flags, nodes);
  if (plan && nodes.nodes == 1) {
    if (ranks && *ranks != *planned)
      throw usage_error(format("{} {} and {} contradict each other: the plan has {} ranks",
                               nodes.ranks ? "--nproc-per-node" : "--ranks", *ranks, *plan, *planned),
                        "leave it out");
    ranks = planned;
  }
  if (!ranks && nodes.nodes > 1)
    throw usage_error("--nproc-per-node is missing", "the number of ranks on this machine");
  if (!ranks) throw usage_error("--ranks is missing", "nadi launch -n 2 train ... starts two ranks");
  if (*ranks > kMostRanksOfJob) throw usage_error(format("--ranks is {}, limit {}", *ranks, kMostRanksOfJob));
  JobOptions options{.ranks = static_cast<int>(*ranks), .words = words};
  options.hosts = flags.text("--hosts").value_or("");
  options.hostfile = flags.text("--hostfile").value_or("");
  if (nodes.nodes > 1 || !spans_hosts({.hosts = options.hosts, .hostfile = options.hostfile}))
    check_ranks_here(flags, nodes.ranks ? "--nproc-per-node" : "--ranks", *ranks);
  if (nodes.nodes > 1 && (!options.hosts.empty() || !options.hostfile.empty()))
    throw usage_error(
        format("{} and --nnodes contradict each other", options.hosts.empty() ? "--hostfile" : "--hosts"),
        "with --nnodes a launch is started on each machine; --hosts starts ranks on all of "
        "them from one");
  if (!options.hosts.empty() && !options.hostfile.empty())
    throw usage_error("--hosts and --hostfile contradict each other", "give one of them");
  if (!options.hosts.empty() && ranks_on(options.hosts) < *ranks)
    throw usage_error(format("--hosts has room for {} ranks, not {}", ranks_on(options.hosts), *ranks));
  if (!options.hostfile.empty() && !std::filesystem::exists(options.hostfile))
    throw no_such_file(options.hostfile.string());
  options.max_restarts = static_cast<int>(std::min<std::int64_t>(
      flags.integer("--max-restarts", 0).value_or(0), std::numeric_limits<int>::max()));
  std::string slow;
  for (const std::string& list : flags.texts("--slow")) slow += (slow.empty() ? "" : ",") + list;
  if (!slow.empty())
    options.environment.emplace_back(kSlowVariable,
                                     slow_variable_value(slow_ranks_of("--slow", slow, options.ranks)));
  options.prefix = !flags.given("--no-prefix");
  return options;
}

}  // namespace

void add_launch_flags(Flags& flags) {
  flags.set_rest({.name = "COMMAND", .help = "what each rank runs: any command of nadi, with its flags"});
  flags.value({"--ranks", "-n"}, "N", "number of ranks", "required without --plan or --nproc-per-node");
  flags.value("--plan", "FILE", "a plan of 'nadi plan --emit': as many ranks as it has; COMMAND gets it, too",
              "none");
  flags.value("--hosts", "LIST", "hosts of the ranks, with their numbers of ranks: a:2,b:2",
              "this host, or the hosts of the batch job");
  flags.value("--hostfile", "FILE", "file with the hosts, in mpirun's format", "none");
  flags.value("--max-restarts", "N",
              "restart the job at most N times when a rank fails; train continues from its last checkpoint",
              "0");
  flags.value("--slow", "LIST", "slow ranks down, as on a slower machine: rank=1:2x,rank=3:1.5x", "none",
              {.repeatable = true});
  flags.toggle("--no-prefix", "print lines without the rank in front");
  add_comm_timeout_flag(flags);
  add_oversubscribe_flag(flags);
  add_node_flags(flags);
}

void run_launch(const Flags& flags, Console& console) {
  std::vector<std::string> words = flags.rest();
  refuse_python(words.front());
  const CommandEntry& entry = commands().at(words);
  if (entry.name == "launch") throw usage_error("launch cannot launch itself");
  Flags asked;
  entry.add_flags(asked);
  if (const auto extent = wanted_help(asked, words)) {
    console.out << command_help(commands(), entry, asked, *extent, output_width(console.out));
    return;
  }
  Flags inner = parse_inner(entry, words);
  const std::optional<std::string> plan = plan_for(flags, inner, entry);
  if (plan && !inner.given("--plan")) {
    words.insert(words.end(), {"--plan", *plan});
    inner = parse_inner(entry, words);
  }
  const LaunchNodes nodes = resolve_nodes(flags);
  std::optional<std::int64_t> planned;
  if (plan) planned = read_plan_file(*plan).plan.world_size();
  JobOptions options = resolve(flags, words, nodes, planned ? plan : std::nullopt, planned);
  options.comm_timeout = timeout_for(flags, inner, entry);
  options.collectives_folder = collectives_folder(inner);
  options.json = inner.find("--json") != nullptr && inner.given("--json");
  if (nodes.nodes > 1)
    run_job_on_nodes(nodes, options, planned, console);
  else
    run_job(options, console);
}

}  // namespace nadi::inline show
