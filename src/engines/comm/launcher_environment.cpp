#include "nadi/comm/launcher_environment.h"

#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "nadi/base/read_number.h"
#include "nadi/comm/mpi_session.h"

namespace nadi::inline engines {
namespace {

// What launchers set for a rank. Slurm's variables of the allocation stay: srun and mpirun of a trial need
// them.
constexpr std::array<std::string_view, 6> kRankPrefixes{"OMPI_COMM_WORLD_", "OMPI_UNIVERSE_", "PMIX_", "PMI_",
                                                        "MV2_COMM_",        "MPI_LOCAL"};
constexpr std::array<std::string_view, 6> kRankVariables{
    "SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_ID", "SLURM_STEPID", "SLURM_STEP_NUM_TASKS", "OMPI_MCA_ess"};

// Launchers, each with the variable in which it says how many ranks there are. Slurm's is of the step, which
// only srun makes: a batch script sees the variables of the job, and was not started once per rank.
constexpr std::array kRankCounts{
    "OMPI_COMM_WORLD_SIZE",  // mpirun of Open MPI
    "PMI_SIZE",              // mpirun of MPICH and of Intel MPI; srun --mpi=pmi2
    "MV2_COMM_WORLD_SIZE",   // mpirun of MVAPICH2
    "SLURM_STEP_NUM_TASKS",  // srun, also with PMIx, which tells the number only when asked by MPI
};

// And which one this is, in the same order.
constexpr std::array kRankNumbers{"OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"};

// And how many of them are on this host. Slurm writes "4(x2)" for two hosts with four each.
constexpr std::array kHostCounts{"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE",
                                 "SLURM_STEP_TASKS_PER_NODE"};

// And which of those this one is.
constexpr std::array kHostNumbers{"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                  "MV2_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"};

// 0 when it is not a positive number.
std::int64_t leading_number(const std::string& text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number > 0 ? number : 0;
}

std::optional<std::int64_t> whole_number(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  std::int64_t number = 0;
  if (!read_number(*text, number)) return std::nullopt;
  return number;
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
    const std::int64_t ranks = whole_number(environment(name)).value_or(0);
    if (ranks > 0) return ranks;
  }
  return 0;
}

std::optional<std::int64_t> rank_started(const EnvironmentLookup& environment) {
  for (std::size_t i = 0; i < kRankCounts.size(); ++i) {
    if (whole_number(environment(kRankCounts[i])).value_or(0) <= 0) continue;
    if (const auto rank = whole_number(environment(kRankNumbers[i]))) return rank;
  }
  return std::nullopt;
}

std::optional<ForeignRanks> started_by_torchrun(const EnvironmentLookup& environment) {
  if (ranks_started(environment) > 0 || !environment("MASTER_ADDR")) return std::nullopt;
  const auto rank = whole_number(environment("RANK"));
  const auto ranks = whole_number(environment("WORLD_SIZE"));
  if (!rank || !ranks || *ranks <= 1) return std::nullopt;
  return ForeignRanks{.rank = *rank, .ranks = *ranks};
}

std::int64_t ranks_on_host(const EnvironmentLookup& environment) {
  for (const char* name : kHostCounts)
    if (const std::optional<std::string> value = environment(name))
      if (const std::int64_t ranks = leading_number(*value); ranks > 0) return ranks;
  return 0;
}

std::optional<std::int64_t> rank_on_host(const EnvironmentLookup& environment) {
  if (ranks_started(environment) == 0) return std::nullopt;
  for (const char* name : kHostNumbers)
    if (const auto rank = whole_number(environment(name)); rank && *rank >= 0) return rank;
  return std::nullopt;
}

bool started_by_mpi() {
  return ranks_started(process_environment()) > 0;
}

void forget_launcher() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    bool is_rank = false;
    for (const std::string_view prefix : kRankPrefixes) is_rank = is_rank || name.starts_with(prefix);
    for (const std::string_view variable : kRankVariables) is_rank = is_rank || name == variable;
    if (is_rank) names.emplace_back(name);
  }
  for (const std::string& name : names) unsetenv(name.c_str());
}

}  // namespace nadi::inline engines
