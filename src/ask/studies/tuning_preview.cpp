#include "nadi/studies/tuning_preview.h"

#include "nadi/sampling/sampler.h"
#include "nadi/tune/space_points.h"
#include "nadi/tune/study_history.h"

namespace nadi::inline ask {

TuningPreview preview_tuning(const TuneStudy& tune, std::vector<NewTrial> first, std::size_t most) {
  const SpacePoints points(tune.space);
  const SearchSpace search = points.search_space();
  TuningPreview preview{.grid = search.grid_size()};
  const auto add = [&](const std::vector<double>& point, const std::string& role) {
    preview.commands.push_back(
        {.role = role, .command = command_for(tune.trial.command, tune.space, points.setting_of(point), {})});
  };
  if (first.size() > most) first.resize(most);
  for (const NewTrial& trial : first) {
    StudyTrial waiting;
    waiting.system_attributes = trial.system_attributes;
    waiting.user_attributes = trial.user_attributes;
    TuneSetting setting;
    for (const auto& [name, value] : fixed_parameters(waiting)) setting.emplace(name, value);
    add(points.point_of(setting), text_attribute(waiting, kRole).value_or("trial"));
  }
  if (!first.empty()) return preview;
  TrialHistory history;
  history.maximize.clear();
  for (const MetricSpec& metric : tune.trial.metrics)
    history.maximize.push_back(metric.direction == StudyDirection::kMaximize);
  if (const auto point = make_sampler(tune.sampler, search)->suggest(history, 0)) add(*point, "first trial");
  return preview;
}

}  // namespace nadi::inline ask
