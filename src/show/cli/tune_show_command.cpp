// nadi tune show, nadi tune best
#include <array>
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/cli/tune_flags.h"
#include "nadi/cli/wide_flag.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/report/tune_report.h"
#include "nadi/studies/study_question.h"
#include "nadi/terminal/console.h"
#include "nadi/terminal/wrapping_buffer.h"

namespace nadi::inline show {
namespace {

constexpr std::int64_t kDefaultShown = 20;
constexpr std::array<std::string_view, 4> kEmitted{"setting", "command", "environment", "flags"};

StudyView given_study(const Flags& flags) {
  return view_study({.file = flags.positional(), .name = flags.text("--name").value_or("")});
}

}  // namespace

void add_tune_show_flags(Flags& flags) {
  flags.set_positional({.name = "STUDY", .help = "the file of a study, of Nadi or of Optuna"});
  add_study_name_flag(flags);
  flags.value("--top", "N", "trials that are listed; 0 lists all", format("{}", kDefaultShown));
  add_wide_flag(flags);
  flags.toggle("--json", "print JSON: see docs/json.md");
}

void run_tune_show(const Flags& flags, Console& console) {
  const StudyView view = given_study(flags);
  if (flags.given("--json"))
    console.out << dump_json(study_json(view));
  else
    print_wide_or_not(flags, console, [&](const ReportStyle& style) {
      print_study(view, static_cast<std::size_t>(flags.integer("--top", 0).value_or(kDefaultShown)),
                  console.out, style);
    });
}

void add_tune_best_flags(Flags& flags) {
  flags.set_positional({.name = "STUDY", .help = "the file of a study, of Nadi or of Optuna"});
  add_study_name_flag(flags);
  flags.value("--emit", "WHAT",
              "command: ready to paste; setting: NAME=VALUE lines; environment: lines of export; "
              "flags: what is "
              "appended to the command",
              "setting", {.choices = {kEmitted.begin(), kEmitted.end()}});
  flags.value("--trial", "N", "of this trial instead", "the best; of several objectives, in the first");
  flags.toggle("--json", "print JSON: see docs/json.md");
}

void run_tune_best(const Flags& flags, Console& console) {
  const StudyView view = given_study(flags);
  const StudyTrial& trial = trial_of(view, flags.integer("--trial", 0));
  if (view.best.size() > 1 && !flags.given("--trial"))
    console.info() << format("note: {} trials are on the front; trial {} is the best in {}\n",
                             view.best.size(), trial.number, view.objectives[0]);
  if (flags.given("--json")) {
    Json json = trial_json(view, trial);
    const auto command = command_of_trial(view, trial);
    json["command"] = command ? Json(shell_text(*command)) : Json(nullptr);
    console.out << dump_json(json);
    return;
  }
  const Verbatim to_be_pasted(console.out);
  const std::string_view what = kEmitted[flags.choice("--emit").value_or(0)];
  if (what == "setting") {
    for (const TrialParameter& parameter : trial.parameters)
      console.out << parameter.name << "=" << to_text(parameter.external()) << "\n";
    return;
  }
  const auto command = command_of_trial(view, trial);
  if (!command)
    throw usage_error(format("trial {} has no command: the study was not made by nadi tune", trial.number),
                      "--emit setting prints its parameters");
  if (what == "command") {
    console.out << shell_text(*command) << "\n";
  } else if (what == "environment") {
    for (const auto& [name, value] : command->environment)
      console.out << "export " << name << "=" << shell_word(value) << "\n";
  } else {
    // The words without those of the command itself: what the parameters append.
    const CommandTemplate bare{.words = {"{{flags}}"}};
    const SpacePoints points(view.tune->space);
    const TrialCommand words = command_for(bare, view.tune->space, points.setting_of(*points.point_of(trial)),
                                           {.number = trial.number});
    for (std::size_t i = 0; i < words.words.size(); ++i)
      console.out << (i == 0 ? "" : " ") << shell_word(words.words[i]);
    console.out << "\n";
  }
}

}  // namespace nadi::inline show
