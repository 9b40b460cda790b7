// nadi tune report
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cli/tune_flags.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/draw/tune_page_of_study.h"
#include "nadi/studies/study_question.h"
#include "nadi/terminal/console.h"

namespace nadi::inline show {
void add_tune_report_flags(Flags& flags) {
  flags.set_positional({.name = "STUDY", .help = "the file of a study, of Nadi or of Optuna"});
  add_study_name_flag(flags);
  flags.value("--output", "FILE.html", "the page to write: tune.html", "required");
  flags.toggle("--force", "overwrite a file that exists");
}

void run_tune_report(const Flags& flags, Console& console) {
  const auto path = flags.text("--output");
  if (!path) throw usage_error("--output is missing", "-o tune.html");
  if (!path->ends_with(".html")) throw usage_error(format("'{}' does not end in .html", *path));
  const Overwrite overwrite = flags.given("--force") ? Overwrite::kAllow : Overwrite::kRefuse;
  if (overwrite == Overwrite::kRefuse) refuse_existing(*path);
  const StudyView view = view_study({.file = flags.positional(), .name = flags.text("--name").value_or("")});
  write_tune_page(page_of_study(view), *path, overwrite);
  console.out << format("{}: study '{}', {} trials\n", *path, view.study.name, view.trials.size());
}

}  // namespace nadi::inline show
