// nadi tune
#include <filesystem>
#include <ostream>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cli/step_flags.h"
#include "nadi/cli/tune_flags.h"
#include "nadi/cli/tune_session.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/report/tuning_preview_text.h"
#include "nadi/studies/study_start.h"
#include "nadi/studies/tuning_preview.h"
#include "nadi/terminal/console.h"

namespace nadi::inline show {
namespace {

// A dry run may be for another machine.
void warn_without_program(const TuneStudy& tune, Console& console) {
  try {
    require_program(tune.trial.command);
  } catch (const Error& error) {
    console.warnings() << format("warning: no trial could start: {}\n", error.message());
  }
}

}  // namespace

void run_tune(const Flags& flags, Console& console) {
  if (follows_another_rank(console)) return;
  const TuneStudy tune = resolve_tune(flags);
  const std::filesystem::path path =
      study_place(flags.text("--study").value_or(std::string(default_study_file())));
  const std::string name = flags.text("--name").value_or(std::string(kDefaultStudyName));
  const TunerOptions options = resolve_tuner(flags, path, name, console);
  if (!flags.given("--dry-run")) require_program(tune.trial.command);  // before a study is begun
  const StudyPlanner planner(tune);
  if (planner.model() != nullptr) name_ignored_keys(*planner.model(), console);
  std::vector<NewTrial> first = first_trials(tune, planner, console);
  if (flags.given("--dry-run")) {
    print_tuning_preview(tune, planner.guide(), preview_tuning(tune, std::move(first)), console.out);
    warn_without_program(tune, console);
    return;
  }
  begin_study(path, name, tune, first);
  run_tuning(tune, options, planner, {.json = flags.given("--json")}, console);
}

}  // namespace nadi::inline show
