// The planner of `nadi tune`: its flags, the question that they ask, and the plan of --plan.
#pragma once

#include <optional>
#include <vector>

#include "nadi/plan/plan_file.h"
#include "nadi/plan/plan_question.h"
#include "nadi/tune/plan_guide.h"
#include "nadi/tune/tune_study.h"
#include "nadi/tune/tuner.h"

namespace nadi::inline show {

class Flags;
struct Console;

void add_planner_flags(Flags& flags);

// Error (usage) for flags that contradict each other; (input) for the file of --plan.
PlannedRun resolve_planned(const Flags& flags);

// Layers that the plan of --plan spreads unevenly become a choice of a space that has a constant for the
// partition: evenly, or as the plan does, with Megatron's flags for it. Layers of virtual stages stand in for
// the number of those, as Megatron's layout does.
void add_planned_partition(const PlannedRun& planned, TuneSpace& space);

// For a space of plans. The study must stay where it is.
class TunePlanner {
 public:
  TunePlanner(const TuneStudy& tune, Console& console);

  // nullptr when the study asks for no planner.
  const PlanGuide* guide() const { return guide_ ? &*guide_ : nullptr; }

  // What is queued when the study begins (tuner.h). Ranking plans may take minutes: after a second it is
  // said what is being done, and on a terminal how long it will take.
  std::vector<NewTrial> first_trials(Console& console) const;

  // The plan of --plan as a point of the space, to be tried before all others; nothing without --plan. Reads
  // the file: for the start of a study. Error (usage) where the space does not have the plan. What the space
  // cannot say of a plan is noted: how layers are spread, and on which devices ranks are.
  std::optional<std::vector<double>> plan_of_file(Console& console) const;

 private:
  void note_partition(PlanFile& file, Console& console) const;

  const TuneStudy& tune_;
  std::optional<PlanQuestion> question_;
  std::optional<SpacePoints> points_;
  std::optional<PlanGuide> guide_;
};

}  // namespace nadi::inline show
