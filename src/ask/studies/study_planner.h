// The planner of a study: the plans that are tried first, and settings that cannot run.
//
//   const StudyPlanner planner(study);
//   storage.create_trials(id, planner.first_trials({}, note));
//   Tuner(study, {.guide = planner.guide()})
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nadi/plan/plan_file.h"
#include "nadi/plan/plan_question.h"
#include "nadi/tune/plan_guide.h"
#include "nadi/tune/tune_study.h"
#include "nadi/tune/tuner.h"

namespace nadi::inline ask {

class StudyPlanner {
 public:
  // For a space of plans. The study must stay where it is.
  explicit StudyPlanner(const TuneStudy& tune);

  // nullptr when the study asks for no planner.
  const PlanGuide* guide() const { return guide_ ? &*guide_ : nullptr; }
  // The model that is planned; nullptr likewise.
  const ModelConfig* model() const { return question_ ? &question_->config : nullptr; }

  // What is queued when the study begins (tuner.h). Ranking plans may take minutes: `progress` hears of it. What the space
  // cannot say of the plan's file is noted: how layers are spread, and on which devices ranks are. Error (usage) where
  // the space does not have that plan.
  using Note = std::function<void(const std::string& text)>;
  std::vector<NewTrial> first_trials(const std::function<void(const GuideProgress&)>& progress,
                                     const Note& note) const;

 private:
  std::optional<std::vector<double>> plan_of_file(const Note& note) const;
  void note_partition(PlanFile& file, const Note& note) const;

  const TuneStudy& tune_;
  std::optional<PlanQuestion> question_;
  std::optional<SpacePoints> points_;
  std::optional<PlanGuide> guide_;
};

}  // namespace nadi::inline ask
