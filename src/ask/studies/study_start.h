// A study that begins, and one that is gone on with.
//
//   begin_study("tuned.db", "tune", tune, planner.first_trials({}, note));
//   const ResumedStudy again = resume_study("tuned.db", "", 100);
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "nadi/study/study_storage.h"
#include "nadi/tune/tune_study.h"

namespace nadi::inline ask {

// "tune.db"; "tune.journal" where the build has no SQLite.
std::string_view default_study_file();

// `first` are the trials that come before all others. Error (usage) where the storage has a study of that name.
void begin_study(const std::filesystem::path& place, const std::string& name, const TuneStudy& tune,
                 const std::vector<NewTrial>& first);

struct ResumedStudy {
  std::string name;
  TuneStudy tune;
};
// `name` "": the only one. `trials`: of the study in all from now on; nothing means as many as before.
ResumedStudy resume_study(const std::filesystem::path& place, const std::string& name,
                          const std::optional<std::int64_t>& trials);

}  // namespace nadi::inline ask
