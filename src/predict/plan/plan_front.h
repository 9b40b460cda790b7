// A front of time and money by the simulator's times, of plans that are on one by estimate.
//
//   const ConfirmedFront front = confirmed_front(question, plans, [](auto done, auto total) { return true;
//   }); front.best            // fastest first: each is cheaper than all before it
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "nadi/plan/plan_question.h"
#include "nadi/plan/plan_search.h"

namespace nadi::inline predict {

struct ConfirmedFront {
  std::vector<RankedPlan> best;
  std::vector<RankedPlan> behind;  // plans that others beat in both, and plans without a price; by time
};

// Plans without a simulated time are simulated. `go_on` is called before each with how many are done, of how
// many; where it says no, the rest keep their estimates.
ConfirmedFront confirmed_front(const PlanQuestion& question, std::vector<RankedPlan> plans,
                               const std::function<bool(std::int64_t, std::int64_t)>& go_on);

}  // namespace nadi::inline predict
