#include "nadi/launch/mpirun_command.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/launch/launch.h"
#include "nadi/launch/launch_meeting.h"
#include "nadi/launch/node_agent.h"
#include "nadi/launch/rank_supervisor.h"

namespace nadi::inline jobs {
namespace {

// Variables of the user that ranks on other hosts should see as well; mpirun does not carry them by itself.
constexpr std::array<std::string_view, 10> kCarriedPrefixes{
    "NADI_", "OMP_",    "GOMP_", "OPENBLAS_", "DNNL_",
    "NCCL_", "ONEDNN_", "UCX_",  "LOGLEVEL=", "HF_DATASETS_CACHE="};

std::vector<std::string> carried_variables() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const bool carried = std::ranges::any_of(
        kCarriedPrefixes, [&](std::string_view prefix) { return text.starts_with(prefix); });
    if (carried) names.emplace_back(text.substr(0, text.find('=')));
  }
  std::ranges::sort(names);
  return names;
}

// mpirun reaches the nodes through the launches on them (node_agent.h), whatever batch system it finds; their
// names are ours, and no name server knows them. Daemons stay in the foreground, so that the launch that
// starts one sees its end. Ranks are numbered node after node.
void add_nodes(const LaunchRequest& request, std::vector<std::string>& words) {
  const std::string& program = request.supervisor.front();
  if (program.find_first_of(" :") != std::string::npos)
    throw environment_error(
        format("{}: mpirun cannot start a program with a space or a colon in its path", program),
        "put the program into another folder");
  words.insert(words.end(), {"--noprefix",
                             "--leave-session-attached",
                             "--mca",
                             "plm",
                             "rsh",
                             "--mca",
                             "plm_rsh_agent",
                             format("{} {}", program, kAgentWord),
                             "--mca",
                             "plm_rsh_no_tree_spawn",
                             "1",
                             "--mca",
                             "orte_do_not_resolve",
                             "1",
                             "--mca",
                             "ras",
                             "^slurm,tm,lsf,gridengine",
                             "--map-by",
                             "slot",
                             "--host",
                             request.nodes->hosts()});
  // Daemons on one machine would give files of shared memory the same names.
  if (request.nodes->share_a_machine()) words.insert(words.end(), {"--mca", "btl", "^vader"});
}

// On one machine nothing needs the network: mpirun and the ranks listen on the loopback interface alone, and
// the ranks not at all, since they have shared memory. What the user has set in Open MPI's own variables
// counts.
void stay_on_this_machine(std::vector<std::string>& words) {
  struct Setting {
    const char *name, *value;
  };
  constexpr std::array kSettings{Setting{"oob_tcp_if_include", "lo"},
                                 Setting{"btl", "^tcp,ofi,openib,usnic,uct"},
                                 Setting{"btl_tcp_if_include", "lo"}};
  for (const Setting& setting : kSettings) {
    const std::string name = setting.name;
    // Both forms of one choice exclude each other.
    const std::string other = name.ends_with("include") ? name.substr(0, name.size() - 7) + "exclude" : name;
    if (std::getenv(("OMPI_MCA_" + name).c_str()) != nullptr ||
        std::getenv(("OMPI_MCA_" + other).c_str()) != nullptr)
      continue;
    words.insert(words.end(), {"--mca", name, setting.value});
  }
}

// The module that keeps mpirun off other interfaces (loopback_bind.cpp): beside the program in a build
// folder, among the libraries where it is installed. Without it mpirun works, and listens to everybody.
void add_loopback_module(const std::filesystem::path& program, Environment& environment) {
  constexpr std::string_view kModule = "libnadi_loopback.so";
  const std::filesystem::path folder = program.parent_path();
  for (const std::filesystem::path& place : {folder / kModule, folder / NADI_MODULE_FOLDER / kModule}) {
    std::error_code error;
    const std::filesystem::path module = std::filesystem::canonical(place, error);
    // The loader takes spaces and colons for separators.
    if (error || module.string().find_first_of(" :") != std::string::npos) continue;
    const char* const users = std::getenv("LD_PRELOAD");
    const bool has_some = users != nullptr && *users != '\0';
    environment.emplace_back("LD_PRELOAD",
                             has_some ? format("{}:{}", module.string(), users) : module.string());
    return;
  }
}

}  // namespace

bool spans_hosts(const LaunchRequest& request) {
  if (!request.hosts.empty() || !request.hostfile.empty() || request.nodes != nullptr) return true;
  const char* const slurm_nodes = std::getenv("SLURM_JOB_NUM_NODES");
  if (slurm_nodes != nullptr && std::string_view(slurm_nodes) != "1") return true;
  return std::getenv("PBS_NODEFILE") != nullptr || std::getenv("LSB_DJOB_HOSTFILE") != nullptr;
}

ChildOptions mpirun_command(const LaunchRequest& request, const std::filesystem::path& mpirun,
                            const std::string& contact) {
  // A session of its own: Ctrl-C on the terminal is for us, who pass it on in our way.
  ChildOptions options{.words = {mpirun.string(), "-n", format("{}", request.ranks), "--bind-to", "none"},
                       .environment = request.environment,
                       .new_session = true,
                       .death_signal = SIGTERM};
  Environment& environment = options.environment;
  std::vector<std::string>& words = options.words;
  environment.emplace_back(kContactVariable, contact);
  if (spans_hosts(request))
    for (const std::string& name : carried_variables()) words.insert(words.end(), {"-x", name});
  for (const auto& [name, value] : environment) words.insert(words.end(), {"-x", name});

  if (request.nodes != nullptr) add_nodes(request, words);
  if (!request.hosts.empty()) words.insert(words.end(), {"--host", request.hosts});
  if (!request.hostfile.empty()) words.insert(words.end(), {"--hostfile", request.hostfile.string()});
  if (!spans_hosts(request)) {
    words.emplace_back("--oversubscribe");  // than cores; else mpirun refuses
    stay_on_this_machine(words);
    if (!request.supervisor.empty()) add_loopback_module(request.supervisor.front(), environment);
  }
  if (geteuid() == 0) {
    environment.emplace_back("OMPI_ALLOW_RUN_AS_ROOT", "1");
    environment.emplace_back("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  }
  // mpirun asks hwloc what the machine has, and hwloc's component for OpenGL looks for ten X servers. Where
  // `localhost` is not in /etc/hosts, each look is a question to the name server, of which any may take 5 s.
  if (std::getenv("HWLOC_COMPONENTS") == nullptr) environment.emplace_back("HWLOC_COMPONENTS", "-gl");
  words.insert(words.end(), request.supervisor.begin(), request.supervisor.end());
  words.insert(words.end(), request.command.begin(), request.command.end());
  return options;
}

}  // namespace nadi::inline jobs
