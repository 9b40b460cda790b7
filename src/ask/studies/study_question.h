// What a study found: what `nadi tune show`, `best` and `report` are asked.
//
//   const StudyView answer = view_study({.file = "tuned.db"});
//   answer.best, answer.parameters[0].importance
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nadi/tune/study_view.h"

namespace nadi::inline ask {

struct StudyQuestion {
  std::string file = {};  // or the address of a server; of Nadi or of Optuna
  std::string name = {};  // else the only one
};

// Error (input) for a file that is no study; (usage) for a name that it does not have, and where there are several.
StudyView view_study(const StudyQuestion& question);

// A trial by its number, else the best; of several objectives, in the first. Error (usage) for a number that there is not;
// (infeasible) where no trial is complete.
const StudyTrial& trial_of(const StudyView& view, const std::optional<std::int64_t>& number = {});

}  // namespace nadi::inline ask
