// What the planner of a study does, once it takes longer than a moment; on a terminal with how long it will take.
#pragma once

#include "nadi/terminal/progress_line.h"
#include "nadi/tune/plan_guide.h"
#include "nadi/tune/tune_study.h"

namespace nadi::inline show {

struct Console;

class PlannerProgress {
 public:
  PlannerProgress(const PlannedRun& planned, Console& console);
  void operator()(const GuideProgress& at);

 private:
  const PlannedRun& planned_;
  Console& console_;
  Clock clock_;
  Nanoseconds start_;
  ProgressLine line_;
  bool said_ranking_ = false, said_simulating_ = false;
};

}  // namespace nadi::inline show
