#include "nadi/cli/start_ranks.h"

#include <string>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cli/comm_timeout_flag.h"
#include "nadi/cli/sense_limits.h"
#include "nadi/comm/launcher_environment.h"
#include "nadi/comm/mpi_session.h"
#include "nadi/command_line/flags.h"
#include "nadi/launch/mpirun_command.h"
#include "nadi/launched/launched_job.h"

namespace nadi::inline show {
namespace {

constexpr const char* kSameCommandVariable = "NADI_SAME_COMMAND";

}  // namespace

bool starts_ranks(std::int64_t ranks) {
  if (const auto foreign = started_by_torchrun(process_environment()))
    throw usage_error(
        format("this process is rank {} of {} by RANK, WORLD_SIZE and MASTER_ADDR, as torchrun sets them; "
               "Nadi's ranks are those of MPI",
               foreign->rank, foreign->ranks),
        format("start them with 'nadi launch -n {}' or 'mpirun -n {}' in place of torchrun; with Slurm: srun "
               "--mpi=pmix",
               foreign->ranks, foreign->ranks));
  return ranks > 1 && !started_by_mpi();
}

void start_ranks(std::string_view command, std::int64_t ranks, const Flags& flags, Console& console) {
  constexpr std::int64_t kMostRanks = 1 << 20;
  if (ranks > kMostRanks) throw usage_error(format("{} ranks, limit {}", ranks, kMostRanks));
  if (!spans_hosts(LaunchRequest{}))
    check_ranks_here(flags, command == "train" ? "--num-ranks" : "--tp", ranks);
  std::vector<std::string> words{std::string(command)};
  words.insert(words.end(), flags.arguments().begin(), flags.arguments().end());
  run_job({.ranks = static_cast<int>(ranks),
           .words = std::move(words),
           .environment = {{kSameCommandVariable, "1"}},
           .prefix = false,
           .comm_timeout = comm_timeout_of(flags),
           .collectives_folder = collectives_folder(flags)},
          console);
}

bool started_by_same_command() {
  return process_environment()(kSameCommandVariable).has_value();
}

}  // namespace nadi::inline show
