// What the environment says about who started this process, and with how many others.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace nadi::inline engines {

// The value of a variable, or nothing.
using EnvironmentLookup = std::function<std::optional<std::string>(const char* name)>;
EnvironmentLookup process_environment();

// How many ranks mpirun or srun started together, this one included; 0 when neither started it.
std::int64_t ranks_started(const EnvironmentLookup& environment);

// Which of them this one is, from 0; nothing when neither started it.
std::optional<std::int64_t> rank_started(const EnvironmentLookup& environment);

// How many of them are on this host; 0 when the launcher does not say.
std::int64_t ranks_on_host(const EnvironmentLookup& environment);

// Which of those on this host this one is, from 0; nothing when the launcher does not say.
std::optional<std::int64_t> rank_on_host(const EnvironmentLookup& environment);

// What starts ranks for PyTorch (torchrun, deepspeed, accelerate) and says so in RANK, WORLD_SIZE and
// MASTER_ADDR, which Nadi does not use: every process would be a job of its own.
struct ForeignRanks {
  std::int64_t rank = 0;
  std::int64_t ranks = 0;
};
// Nothing when mpirun or srun started the ranks as well, or there is only one.
std::optional<ForeignRanks> started_by_torchrun(const EnvironmentLookup& environment);

// Removes from the environment what tells this rank apart, so that commands which this process starts do not take
// themselves for ranks of its launcher.
void forget_launcher();

}  // namespace nadi::inline engines
