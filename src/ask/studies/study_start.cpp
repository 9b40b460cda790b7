#include "nadi/studies/study_start.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/studies/tuning_question.h"

namespace nadi::inline ask {

std::string_view default_study_file() {
  return has_sqlite() ? "tune.db" : "tune.journal";
}

void begin_study(const std::filesystem::path& place, const std::string& name, const TuneStudy& tune,
                 const std::vector<NewTrial>& first) {
  const auto storage = open_study_storage(place, {.mode = StorageMode::kCreate});
  // What is there is gone on with by resume, which asks for nothing; only a new name begins another.
  if (storage->find_study(name))
    throw usage_error(format("{} has a study '{}' already", storage->path().string(), name),
                      format("'nadi tune resume {}' goes on with it; another name begins another",
                             storage->path().string()));
  const StudyId study = storage->create_study({.name = name, .directions = directions_of(tune)});
  storage->set_study_attributes(study, AttributeOwner::kUser,
                                {{std::string(kTuneAttribute), tune_study_json(tune)}});
  Json names = Json::array();
  for (const MetricSpec& metric : tune.trial.metrics) names.push_back(metric.name);
  storage->set_study_attributes(study, AttributeOwner::kSystem, {{std::string(kMetricNames), names.dump()}});
  if (!first.empty()) storage->create_trials(study, first);
}

ResumedStudy resume_study(const std::filesystem::path& place, const std::string& name,
                          const std::optional<std::int64_t>& trials) {
  if (trials) check_trials(*trials);
  const auto storage = open_study_storage(place, {.mode = StorageMode::kWrite});
  const StudyId id = storage->open_study(name);
  const Study study = storage->study(id);
  ResumedStudy resumed{.name = study.name, .tune = {}};
  resumed.tune = tune_study_of(study, place.string());
  if (trials) {
    resumed.tune.trials = *trials;
    storage->set_study_attributes(id, AttributeOwner::kUser,
                                  {{std::string(kTuneAttribute), tune_study_json(resumed.tune)}});
  }
  return resumed;
}

}  // namespace nadi::inline ask
