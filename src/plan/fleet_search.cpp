// All mixes of nodes with one search: what is known of layers, stages and networks is shared, and a mix
// starts from the best plan of those that are part of it. A mix whose best plan leaves rented nodes unused is
// no point: the smaller one has the same time for less money. So in each mix only plans that take all of its
// nodes are looked at, besides the best ones of smaller mixes. Where the caller wants to see every plan, all
// of them are evaluated with balanced stages (balanced_plans.h) before the search goes for the best.
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "nadi/plan/balanced_plans.h"
#include "nadi/plan/fleet.h"
#include "nadi/plan/plan_confirmation.h"
#include "nadi/plan/search_core.h"

namespace nadi {
namespace {

// Of so many mixes all plans are evaluated where the caller wants to see them: a fleet of two kinds of up to
// 15 nodes each. Of more, those that the search looks at.
constexpr std::size_t kMostMixesWhole = 256;

// Every mix after those with fewer nodes.
std::vector<std::vector<std::int32_t>> mixes_of(const std::vector<FleetChoice>& choices) {
  std::vector<std::vector<std::int32_t>> mixes{{}};
  for (const FleetChoice& choice : choices) {
    std::vector<std::vector<std::int32_t>> longer;
    for (const std::vector<std::int32_t>& mix : mixes)
      for (const std::int32_t count : counts_of(choice)) {
        longer.push_back(mix);
        longer.back().push_back(count);
      }
    mixes = std::move(longer);
  }
  std::ranges::stable_sort(mixes, {}, [](const std::vector<std::int32_t>& mix) {
    return std::accumulate(mix.begin(), mix.end(), std::int64_t{0});
  });
  return mixes;
}

Nanoseconds time_of(const FleetPoint& point) {
  return point.plan.simulated.value_or(point.plan.estimate.iteration);
}

double dollars_of(const FleetPoint& point) {
  const double estimated = *point.plan.estimate.dollars_per_step;
  return estimated * static_cast<double>(time_of(point).count()) /
         static_cast<double>(point.plan.estimate.iteration.count());
}

std::vector<std::size_t> front_of(const std::vector<FleetPoint>& points) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].plan.estimate.dollars_per_step) order.push_back(i);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const Nanoseconds of_a = time_of(points[a]), of_b = time_of(points[b]);
    return of_a != of_b ? of_a < of_b : dollars_of(points[a]) < dollars_of(points[b]);
  });
  std::vector<std::size_t> front;
  for (const std::size_t i : order)
    if (front.empty() || dollars_of(points[i]) < dollars_of(points[front.back()])) front.push_back(i);
  return front;
}

// The best plan of the mixes that are part of this one.
std::optional<RankedPlan> known_plan(const std::map<std::vector<std::int32_t>, RankedPlan>& best,
                                     const std::vector<std::int32_t>& mix) {
  const RankedPlan* known = nullptr;
  for (const auto& [smaller, plan] : best)
    if (std::ranges::equal(smaller, mix, std::ranges::less_equal{}) &&
        (known == nullptr || plan.estimate.iteration < known->estimate.iteration))
      known = &plan;
  return known == nullptr ? std::nullopt : std::optional(*known);
}

}  // namespace

FleetAnswer search_fleet(const PlanQuestion& question, const Fleet& fleet, const SearchOptions& options) {
  PlanQuestion whole = question;
  whole.cluster = fleet.cluster;
  whole.objective =
      PlanObjective::kTime;  // all nodes of a mix are paid for, so its cheapest plan is its fastest
  SearchOptions quiet = options;
  quiet.progress = {};
  SearchCore core(whole, quiet, 1);
  BalancedPlans all_plans(whole);
  FleetAnswer answer;
  std::map<std::vector<std::int32_t>, RankedPlan> best;
  const std::vector<std::vector<std::int32_t>> mixes = mixes_of(fleet.choices);
  std::optional<Nanoseconds> fastest;
  for (std::size_t done = 0; done < mixes.size() && !answer.stopped; ++done) {
    if (options.progress)
      options.progress({.done = static_cast<std::int64_t>(done),
                        .total = std::ssize(mixes),
                        .evaluated = answer.evaluated,
                        .best = fastest});
    std::vector<std::int32_t> nodes(fleet.cluster.kinds.size());
    std::vector<NodeRun> rented;
    for (std::size_t i = 0; i < fleet.choices.size(); ++i) {
      nodes[static_cast<std::size_t>(fleet.choices[i].kind)] += mixes[done][i];
      if (mixes[done][i] > 0)
        rented.push_back({.kind = fleet.choices[i].kind, .count = mixes[done][i], .devices = 1});
    }
    if (rented.empty()) continue;
    ++answer.subclusters;
    std::optional<RankedPlan> known = known_plan(best, mixes[done]);
    if (options.every && mixes.size() <= kMostMixesWhole) {
      BalancedPlans::Found balanced = all_plans.run(nodes, options.every, options.stop);
      answer.evaluated += balanced.evaluated;
      const bool limited = question.limits.step_time || question.limits.dollars_per_million_tokens;
      if (balanced.fastest && !limited &&
          (!known || balanced.fastest->estimate.iteration < known->estimate.iteration))
        known = std::move(balanced.fastest);
    }
    CoreAnswer found = core.run({.nodes = nodes,
                                 .known = std::move(known),
                                 .dollars_per_hour = dollars_per_hour(fleet.cluster, rented),
                                 .proves = false,
                                 .all_nodes = true});
    answer.evaluated += found.evaluated;
    answer.stopped = found.stopped;
    if (found.plans.empty()) continue;
    RankedPlan& plan = found.plans.front();
    if (!fastest || plan.estimate.iteration < *fastest) fastest = plan.estimate.iteration;
    std::int64_t used = 0;
    for (const NodeRun& run : plan.candidate.nodes) used += run.count;
    if (used == std::accumulate(nodes.begin(), nodes.end(), std::int64_t{0}))
      answer.points.push_back({.counts = mixes[done], .plan = plan});
    best.insert_or_assign(mixes[done], std::move(plan));
  }
  answer.front = front_of(answer.points);
  for (const std::size_t point : answer.front) {
    if (options.stop && options.stop()) break;
    RankedPlan& plan = answer.points[point].plan;
    plan.simulated = simulate_plan(whole, plan.candidate).iteration_time;
  }
  answer.front = front_of(answer.points);
  return answer;
}

}  // namespace nadi
