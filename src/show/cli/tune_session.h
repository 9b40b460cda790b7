// A tuner at work, as `nadi tune` and `nadi tune resume` run it: progress, the summary, the exit code.
#pragma once

#include <vector>

#include "nadi/cli/tune_flags.h"
#include "nadi/studies/study_planner.h"

namespace nadi::inline show {

struct TuneOutput {
  bool json = false;
};

// Throws Interrupted where the user ended it; Error (infeasible) where every trial failed.
void run_tuning(const TuneStudy& tune, TunerOptions options, const StudyPlanner& planner,
                const TuneOutput& output, Console& console);

// What is queued when the study begins. Ranking plans may take minutes: after a second it is said what is being done.
std::vector<NewTrial> first_trials(const TuneStudy& tune, const StudyPlanner& planner, Console& console);

// Under mpirun or srun rank 0 leads, and the others have nothing to do: true for those, with a note. The
// variables by which the launcher tells ranks apart are removed from the environment, so that commands of
// trials do not take themselves for ranks of it.
bool follows_another_rank(Console& console);

}  // namespace nadi::inline show
