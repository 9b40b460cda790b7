// nadi tune resume
#include <filesystem>
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cli/step_flags.h"
#include "nadi/cli/tune_flags.h"
#include "nadi/cli/tune_session.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/studies/study_start.h"
#include "nadi/terminal/console.h"

namespace nadi::inline show {
namespace {

// Paths in the command are meant from where the study began.
void enter_working_folder(const TuneStudy& tune, Console& console) {
  std::error_code failure;
  if (std::filesystem::equivalent(tune.working_folder, ".", failure)) return;
  std::filesystem::current_path(tune.working_folder, failure);
  if (failure)
    throw environment_error(format("the study began in {}, and there is no such folder", tune.working_folder),
                            "commands of trials have paths from there");
  console.info() << format("note: commands run in {}\n", tune.working_folder);
}

}  // namespace

void add_tune_resume_flags(Flags& flags) {
  flags.set_positional({.name = "STUDY", .help = "the file of a study that 'nadi tune' began"});
  add_study_name_flag(flags);
  add_tuning_flags(flags, "as many as before");
}

void run_tune_resume(const Flags& flags, Console& console) {
  if (follows_another_rank(console)) return;
  const std::filesystem::path path = study_place(flags.positional());
  const auto [name, tune] = resume_study(path, flags.text("--name").value_or(""), flags.integer("--trials"));
  enter_working_folder(tune, console);
  require_program(tune.trial.command);
  const TunerOptions options = resolve_tuner(flags, path, name, console);
  const StudyPlanner planner(tune);
  if (planner.model() != nullptr) name_ignored_keys(*planner.model(), console);
  run_tuning(tune, options, planner, {.json = flags.given("--json")}, console);
}

}  // namespace nadi::inline show
