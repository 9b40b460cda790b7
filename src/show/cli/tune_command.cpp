// nadi tune
#include <filesystem>
#include <ostream>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/cli/tune_flags.h"
#include "nadi/cli/tune_planner.h"
#include "nadi/cli/tune_session.h"
#include "nadi/command_line/command.h"
#include "nadi/command_line/flags.h"
#include "nadi/report/tune_report.h"
#include "nadi/terminal/console.h"

namespace nadi::inline show {
namespace {

namespace fs = std::filesystem;

// A study that is there is gone on with by resume, which asks for nothing; only a new name begins another.
StudyId new_study(StudyStorage& storage, const std::string& name, const TuneStudy& tune,
                  const fs::path& path) {
  if (storage.find_study(name))
    throw usage_error(format("{} has a study '{}' already", path.string(), name),
                      format("'nadi tune resume {}' goes on with it; --name begins another", path.string()));
  const StudyId study = storage.create_study({.name = name, .directions = directions_of(tune)});
  storage.set_study_attributes(study, AttributeOwner::kUser,
                               {{std::string(kTuneAttribute), tune_study_json(tune)}});
  Json names = Json::array();
  for (const MetricSpec& metric : tune.trial.metrics) names.push_back(metric.name);
  storage.set_study_attributes(study, AttributeOwner::kSystem, {{std::string(kMetricNames), names.dump()}});
  return study;
}

void print_dry_run(const TuneStudy& tune, const TunePlanner& planner, Console& console) {
  const SpacePoints points(tune.space);
  const SearchSpace search = points.search_space();
  for (const TuneParameter& parameter : tune.space.parameters)
    console.out << format("{}: {}{}\n", parameter.name, values_text(*parameter.distribution),
                          parameter.when ? format(", when {}", parameter.when->text()) : "");
  for (const TuneConstraint& constraint : tune.space.constraints)
    console.out << format("constraint: {}\n", constraint.expression.text());
  if (const auto grid = search.grid_size()) console.out << format("grid: {} points\n", with_thousands(*grid));
  std::vector<NewTrial> first = planner.first_trials(console);
  if (planner.guide() != nullptr)
    console.out << format("planner: {} plans looked at, {} do not fit\n",
                          with_thousands(planner.guide()->looked_at()),
                          with_thousands(planner.guide()->refused()));
  const auto print_command = [&](const std::vector<double>& point, const std::string& role) {
    console.out << format(
        "{}: {}\n", role,
        shell_text(command_for(tune.trial.command, tune.space, points.setting_of(point), {})));
  };
  constexpr std::size_t kShownCommands = 5;
  if (first.size() > kShownCommands) first.resize(kShownCommands);
  for (const NewTrial& trial : first) {
    StudyTrial waiting;
    waiting.system_attributes = trial.system_attributes;
    waiting.user_attributes = trial.user_attributes;
    TuneSetting setting;
    for (const auto& [name, value] : fixed_parameters(waiting)) setting.emplace(name, value);
    print_command(points.point_of(setting), text_attribute(waiting, kRole).value_or("trial"));
  }
  if (!first.empty()) return;
  const auto sampler = make_sampler(tune.sampler, search);
  TrialHistory history;
  history.maximize.clear();
  for (const MetricSpec& metric : tune.trial.metrics)
    history.maximize.push_back(metric.direction == StudyDirection::kMaximize);
  if (const auto point = sampler->suggest(history, 0)) print_command(*point, "first trial");
}

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
  const fs::path path = study_place(flags.text("--study").value_or(std::string(default_study_file())));
  const std::string name = flags.text("--name").value_or(std::string(kDefaultStudyName));
  const TunerOptions options = resolve_tuner(flags, path, name, console);
  if (!flags.given("--dry-run")) require_program(tune.trial.command);  // before a study is begun
  const TunePlanner planner(tune, console);
  if (flags.given("--dry-run")) {
    print_dry_run(tune, planner, console);
    warn_without_program(tune, console);
    return;
  }
  {
    const std::vector<NewTrial> first = planner.first_trials(console);
    const auto storage = open_study_storage(path, {.mode = StorageMode::kCreate});
    const StudyId study = new_study(*storage, name, tune, storage->path());
    if (!first.empty()) storage->create_trials(study, first);
  }
  run_tuning(tune, options, planner, {.json = flags.given("--json")}, console);
}

}  // namespace nadi::inline show
