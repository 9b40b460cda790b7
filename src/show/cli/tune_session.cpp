#include "nadi/cli/tune_session.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cli/tune_planner.h"
#include "nadi/cli/tune_progress.h"
#include "nadi/comm/launcher_environment.h"
#include "nadi/report/tune_report.h"
#include "nadi/terminal/console.h"
#include "nadi/tune/study_history.h"

namespace nadi::inline show {
namespace {

// What launchers set for a rank. Slurm's variables of the allocation stay: srun and mpirun of a trial need
// them.
constexpr std::array<std::string_view, 6> kRankPrefixes{"OMPI_COMM_WORLD_", "OMPI_UNIVERSE_", "PMIX_", "PMI_",
                                                        "MV2_COMM_",        "MPI_LOCAL"};
constexpr std::array<std::string_view, 6> kRankVariables{
    "SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_ID", "SLURM_STEPID", "SLURM_STEP_NUM_TASKS", "OMPI_MCA_ess"};

void forget_rank() {
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

std::string stop_text(TunerStop stop) {
  switch (stop) {
    case TunerStop::kDone:
      return "";
    case TunerStop::kExhausted:
      return "every setting of the space was tried";
    case TunerStop::kTimeLimit:
      return "the time limit was reached";
    case TunerStop::kInterrupted:
      return "interrupted";
    case TunerStop::kFailing:
      return "every trial fails";
  }
  unreachable();
}

// Whether nothing is known of any setting, since no trial could even be started.
bool none_could_start(StudyStorage& storage, StudyId study) {
  const std::span<const StudyTrial> trials = storage.trials(study);
  return std::ranges::any_of(trials, could_not_start) &&
         std::ranges::all_of(trials, [](const StudyTrial& trial) {
           return !is_finished(trial.state) || could_not_start(trial);
         });
}

}  // namespace

bool follows_another_rank(Console& console) {
  const EnvironmentLookup environment = process_environment();
  const auto rank = rank_started(environment);
  if (ranks_started(environment) > 1 && rank && *rank > 0) {
    console.debug() << format("rank {} has nothing to do: rank 0 runs the trials\n", *rank);
    return true;
  }
  if (rank) forget_rank();
  return false;
}

void run_tuning(const TuneStudy& tune, TunerOptions options, const TunePlanner& planner,
                const TuneOutput& output, Console& console) {
  options.guide = planner.guide();
  TunerSummary summary;
  {
    const Interruption::Hold hold(console.interruption, "ending the trials that run");
    TuneProgress progress(tune, console);
    summary = Tuner(tune, options).run(progress);
  }
  const auto storage = open_study_storage(options.storage);
  const StudyView view =
      view_of_study(*storage, storage->open_study(options.study), storage->path().string());
  if (const std::string why = stop_text(summary.stop); !why.empty())
    console.info() << "note: " << why << "\n";
  if (summary.from_memory > 0)
    console.info() << format("note: {} trials took their values from memory\n", summary.from_memory);
  for (const std::string& name : objectives_without_differences(view))
    console.info() << format("note: {} is the same in all complete trials: it does not tell settings apart\n",
                             name);
  if (output.json)
    console.out << dump_json(study_json(view));
  else
    print_tune_summary(view, console.out, style_for(console));
  if (summary.stop == TunerStop::kInterrupted) {
    console.info() << format("note: 'nadi tune resume {}' goes on\n", storage->path().string());
    throw Interrupted{};
  }
  if (view.best.empty())
    throw Error(none_could_start(*storage, storage->open_study(options.study)) ? ErrorKind::kEnvironment
                                                                               : ErrorKind::kInfeasible,
                {}, format("no trial is complete{}", summary.reason.empty() ? "" : ": " + summary.reason),
                options.keep_logs ? format("the logs are in {}", options.trials_folder.string()) : "");
}

}  // namespace nadi::inline show
