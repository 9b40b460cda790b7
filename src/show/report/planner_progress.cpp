#include "nadi/report/planner_progress.h"

#include <ostream>
#include <utility>

#include "nadi/base/format.h"
#include "nadi/terminal/console.h"

namespace nadi::inline show {

PlannerProgress::PlannerProgress(const PlannedRun& planned, Console& console)
    : planned_(planned),
      console_(console),
      clock_(steady_clock()),
      start_(clock_()),
      line_(console, "plans simulated", clock_) {}

void PlannerProgress::operator()(const GuideProgress& at) {
  constexpr Nanoseconds kMoment{1'000'000'000};
  console_.check_interrupted();
  if (clock_() - start_ < kMoment) return;
  if (!at.simulates && !std::exchange(said_ranking_, true))
    console_.info() << format("note: the planner estimates the plans of the space for {} on {}\n",
                              planned_.model, planned_.cluster);
  if (!at.simulates) return;
  if (!std::exchange(said_simulating_, true))
    console_.info() << format("note: the planner simulates the best {} by its estimates\n",
                              at.total == 1 ? "plan" : format("{} plans", at.total));
  line_.show(at.done, at.total);
}

}  // namespace nadi::inline show
