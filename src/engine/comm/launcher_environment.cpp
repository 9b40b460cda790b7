#include "nadi/engine/comm/launcher_environment.h"

#include <array>
#include <charconv>
#include <cstdlib>

#include "nadi/engine/comm/mpi_session.h"

namespace nadi {
namespace {

// Launchers, each with the variable in which it says how many ranks there are. Slurm's is of the step, which
// only srun makes: a batch script sees the variables of the job, and was not started once per rank.
constexpr std::array kRankCounts{
    "OMPI_COMM_WORLD_SIZE",  // mpirun of Open MPI
    "PMI_SIZE",              // mpirun of MPICH and of Intel MPI; srun --mpi=pmi2
    "MV2_COMM_WORLD_SIZE",   // mpirun of MVAPICH2
    "SLURM_STEP_NUM_TASKS",  // srun, also with PMIx, which tells the number only when asked by MPI
};

// And how many of them are on this host. Slurm writes "4(x2)" for two hosts with four each.
constexpr std::array kHostCounts{"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE",
                                 "SLURM_STEP_TASKS_PER_NODE"};

// 0 when it is not a positive number.
std::int64_t leading_number(const std::string& text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number > 0 ? number : 0;
}

}  // namespace

EnvironmentLookup process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

std::int64_t ranks_started(const EnvironmentLookup& environment) {
  for (const char* name : kRankCounts) {
    const std::optional<std::string> value = environment(name);
    if (!value) continue;
    std::int64_t ranks = 0;
    const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), ranks);
    if (error == std::errc() && end == value->data() + value->size() && ranks > 0) return ranks;
  }
  return 0;
}

std::int64_t ranks_on_host(const EnvironmentLookup& environment) {
  for (const char* name : kHostCounts)
    if (const std::optional<std::string> value = environment(name))
      if (const std::int64_t ranks = leading_number(*value); ranks > 0) return ranks;
  return 0;
}

bool started_by_mpi() {
  return ranks_started(process_environment()) > 0;
}

}  // namespace nadi
