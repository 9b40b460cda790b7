// Every mix of nodes by itself: search_plans() on each, in the order of its numbers of nodes. A plan that
// leaves rented nodes unused is that of a smaller mix, and is counted there.
#include <algorithm>

#include "nadi/plan/fleet.h"

namespace nadi {
namespace {

Cluster rented_nodes(const Cluster& all, const std::vector<FleetChoice>& choices,
                     const std::vector<std::int32_t>& counts) {
  Cluster cluster = all;
  cluster.nodes.clear();
  for (std::size_t i = 0; i < choices.size(); ++i)
    cluster.nodes.insert(cluster.nodes.end(), static_cast<std::size_t>(counts[i]), choices[i].kind);
  if (!cluster.levels.empty()) {
    auto groups = static_cast<std::int64_t>(cluster.nodes.size());
    for (std::size_t level = 0; level + 1 < cluster.levels.size(); ++level)
      groups = (groups + cluster.levels[level].members - 1) / cluster.levels[level].members;
    cluster.levels.back().members = static_cast<std::int32_t>(groups);
  }
  return cluster;
}

// The next numbers of nodes, the last kind fastest; false after the last.
bool advance(const std::vector<FleetChoice>& choices, std::vector<std::int32_t>& counts) {
  for (std::size_t i = counts.size(); i-- > 0;) {
    if (counts[i] < choices[i].most) {
      ++counts[i];
      return true;
    }
    counts[i] = choices[i].fewest;
  }
  return false;
}

std::vector<std::size_t> front_of(const std::vector<FleetPoint>& points) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].plan.estimate.dollars_per_step) order.push_back(i);
  const auto time = [&](std::size_t i) {
    return points[i].plan.simulated.value_or(points[i].plan.estimate.iteration);
  };
  const auto dollars = [&](std::size_t i) { return *points[i].plan.estimate.dollars_per_step; };
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return time(a) != time(b) ? time(a) < time(b) : dollars(a) < dollars(b);
  });
  std::vector<std::size_t> front;
  for (const std::size_t i : order)
    if (front.empty() || dollars(i) < dollars(front.back())) front.push_back(i);
  return front;
}

}  // namespace

FleetAnswer search_fleet(const PlanQuestion& question, const Fleet& fleet, const SearchOptions& options) {
  FleetAnswer answer;
  std::int64_t mixes = 1;
  std::vector<std::int32_t> counts;
  for (const FleetChoice& choice : fleet.choices) {
    counts.push_back(choice.fewest);
    mixes = checked_multiply(mixes, choice.most - choice.fewest + 1, "mixes of nodes");
  }
  std::optional<Nanoseconds> best;
  PlanQuestion part = question;
  for (std::int64_t done = 0; done < mixes; ++done, advance(fleet.choices, counts)) {
    if (options.stop && options.stop()) {
      answer.stopped = true;
      break;
    }
    if (options.progress)
      options.progress({.done = done, .total = mixes, .evaluated = answer.evaluated, .best = best});
    part.cluster = rented_nodes(fleet.cluster, fleet.choices, counts);
    if (part.cluster.nodes.empty()) continue;
    ++answer.subclusters;
    SearchOptions one = options;
    one.top = 1;
    one.confirmed = 1;
    one.progress = {};
    PlanAnswer found = search_plans(part, one);
    answer.evaluated += found.evaluated;
    answer.stopped = answer.stopped || found.stopped;
    if (found.plans.empty()) continue;
    RankedPlan& plan = found.plans[0];
    std::int64_t used = 0;
    for (const NodeRun& run : plan.candidate.nodes) used += run.count;
    if (used < std::ssize(part.cluster.nodes)) continue;
    if (!best || plan.estimate.iteration < *best) best = plan.estimate.iteration;
    answer.points.push_back({.counts = counts, .plan = std::move(plan)});
  }
  answer.front = front_of(answer.points);
  return answer;
}

}  // namespace nadi
