// A tuner at work, as `nadi tune` and `nadi tune resume` run it: progress, the summary, the exit code.
#pragma once

#include "nadi/cli/tune_flags.h"
#include "nadi/cli/tune_planner.h"

namespace nadi::inline show {

class TunePlanner;

struct TuneOutput {
  bool json = false;
};

// Throws Interrupted where the user ended it; Error (infeasible) where every trial failed.
void run_tuning(const TuneStudy& tune, TunerOptions options, const TunePlanner& planner,
                const TuneOutput& output, Console& console);

// Under mpirun or srun rank 0 leads, and the others have nothing to do: true for those, with a note. The
// variables by which the launcher tells ranks apart are removed from the environment, so that commands of
// trials do not take themselves for ranks of it.
bool follows_another_rank(Console& console);

}  // namespace nadi::inline show
