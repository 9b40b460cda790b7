#include "nadi/studies/study_question.h"

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline ask {

StudyView view_study(const StudyQuestion& question) {
  const auto storage = open_study_storage(question.file);
  return view_of_study(*storage, storage->open_study(question.name), storage->path().string());
}

const StudyTrial& trial_of(const StudyView& view, const std::optional<std::int64_t>& number) {
  if (number && *number >= std::ssize(view.trials))
    throw usage_error(format("there is no trial {}: the study has {} trials", *number, view.trials.size()));
  if (!number && view.best.empty())
    throw Error(ErrorKind::kInfeasible, {.file = view.file},
                format("no trial of '{}' is complete", view.study.name));
  return view.trials[static_cast<std::size_t>(number ? *number : view.best[0])];
}

}  // namespace nadi::inline ask
