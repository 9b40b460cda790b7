// How many threads a rank computes with where the user did not say.
#pragma once

#include "nadi/comm/launcher_environment.h"

namespace nadi::inline jobs {

inline constexpr int kMostThreads = 4096;

// The number in kThreadsVariable (rank_supervisor.h); else the cores of this host divided by the ranks that
// mpirun or srun started on it; 0, one thread per core that this process may use, where there are no other
// ranks, or where mpirun has bound each rank to cores of its own (--cpus-per-rank, --map-by ...:PE=N). Error
// (usage) for a variable that is not a number.
int threads_of_rank(const EnvironmentLookup& environment);

}  // namespace nadi::inline jobs
