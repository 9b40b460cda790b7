// Plans of which no other is both faster and cheaper, and a picture of all others: what --pareto draws.
//
//   PlanFront front;
//   search_plans(question, {.every = [&](const auto& candidate, const auto& estimate) {
//     front.add(candidate, estimate);
//   }});
//   front.best()            // fastest first
//
// By estimate. Plans that do not fit in memory, or whose nodes have no price, are counted and not taken. Of
// equals the first counts, so the result depends on the order of add() alone. Memory is bounded: of the plans
// behind the front, one is kept for each cell of a grid over the logarithms of time and money, which becomes
// coarser when there are more than kMostBehind.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "nadi/plan/plan_question.h"
#include "nadi/plan/plan_search.h"

namespace nadi {

class PlanFront {
 public:
  static constexpr std::size_t kMostBehind = 4000;

  // Limits of time and money hold for the front and for what is behind it.
  explicit PlanFront(const PlanLimits& limits, std::int64_t tokens_per_step)
      : limits_(limits), tokens_(tokens_per_step) {}

  void add(const PlanCandidate& candidate, const PlanEstimate& estimate);

  const std::vector<RankedPlan>& best() const { return best_; }
  std::vector<RankedPlan> behind() const;  // by time

  std::int64_t taken() const { return taken_; }
  std::int64_t without_price() const { return without_price_; }

 private:
  using Cell = std::pair<std::int64_t, std::int64_t>;

  bool within_limits(const PlanEstimate& estimate) const;
  void keep_behind(const PlanCandidate& candidate, const PlanEstimate& estimate);
  Cell cell_of(const PlanEstimate& estimate) const;

  PlanLimits limits_;
  std::int64_t tokens_;
  std::vector<RankedPlan> best_;  // time ascends, money descends
  std::map<Cell, RankedPlan> behind_;
  double cells_per_factor_of_e_ = 200;  // half a per cent
  std::int64_t taken_ = 0, without_price_ = 0;
};

// A front by the simulator's times, of plans that are on one by estimate; those that others beat then lie
// behind it. `go_on` is called before each simulation with how many are done, of how many; where it says no,
// the rest keep their estimates.
struct ConfirmedFront {
  std::vector<RankedPlan> best;    // fastest first
  std::vector<RankedPlan> behind;  // by time
};
ConfirmedFront confirmed_front(const PlanQuestion& question, std::vector<RankedPlan> estimated,
                               const std::function<bool(std::int64_t, std::int64_t)>& go_on);

}  // namespace nadi
