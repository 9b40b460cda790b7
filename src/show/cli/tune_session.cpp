#include "nadi/cli/tune_session.h"

#include <algorithm>
#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/comm/launcher_environment.h"
#include "nadi/report/planner_progress.h"
#include "nadi/report/tune_progress.h"
#include "nadi/report/tune_report.h"
#include "nadi/studies/study_question.h"
#include "nadi/terminal/console.h"
#include "nadi/tune/study_history.h"

namespace nadi::inline show {
namespace {

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
bool none_could_start(const StudyView& view) {
  return std::ranges::any_of(view.trials, could_not_start) &&
         std::ranges::all_of(view.trials, [](const StudyTrial& trial) {
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
  if (rank) forget_launcher();
  return false;
}

std::vector<NewTrial> first_trials(const TuneStudy& tune, const StudyPlanner& planner, Console& console) {
  PlannerProgress progress(tune.planned, console);
  return planner.first_trials(std::ref(progress),
                              [&](const std::string& text) { console.info() << "note: " << text << "\n"; });
}

void run_tuning(const TuneStudy& tune, TunerOptions options, const StudyPlanner& planner,
                const TuneOutput& output, Console& console) {
  options.guide = planner.guide();
  TunerSummary summary;
  {
    const Interruption::Hold hold(console.interruption, "ending the trials that run");
    TuneProgress progress(tune, console);
    summary = Tuner(tune, options).run(progress);
  }
  const StudyView view = view_study({.file = options.storage.string(), .name = options.study});
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
    console.info() << format("note: 'nadi tune resume {}' goes on\n", view.file);
    throw Interrupted{};
  }
  if (view.best.empty())
    throw Error(none_could_start(view) ? ErrorKind::kEnvironment : ErrorKind::kInfeasible, {},
                format("no trial is complete{}", summary.reason.empty() ? "" : ": " + summary.reason),
                options.keep_logs ? format("the logs are in {}", options.trials_folder.string()) : "");
}

}  // namespace nadi::inline show
