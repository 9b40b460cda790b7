// All mixes of nodes with one search: what is known of layers, stages and networks is shared, and a mix
// starts from the best plan of those that are part of it. A mix whose best plan leaves rented nodes unused is
// no point: the smaller one has the same time for less money. So in each mix only plans that take all of its
// nodes are looked at, besides the best ones of smaller mixes. Where the caller wants to see every plan, all
// of them are evaluated with balanced stages (balanced_plans.h) before the search goes for the best. All this
// takes little effort for each mix; those that are on the front are then searched as a cluster of their own
// would be, each with an equal share of the work that the caller allows for it.
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "nadi/plan/balanced_plans.h"
#include "nadi/plan/fleet.h"
#include "nadi/plan/search_core.h"

namespace nadi::inline predict {
namespace {

// So many mixes have all their plans evaluated where the caller wants to see them: a fleet of two kinds of up to
// 15 nodes each. Of more, those that the search looks at.
constexpr std::size_t kMostMixesWhole = 256;

// Work for the proofs of all mixes that are on the front at first (PartitionAnswer::work), which takes some
// seconds.
constexpr std::int64_t kFrontEffort = 300'000'000;

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

Nanoseconds time_of(const RankedPlan& plan) {
  return plan.simulated.value_or(plan.estimate.iteration);
}

double dollars_of(const FleetPoint& point) {
  const double estimated = *point.plan.estimate.dollars_per_step;
  return estimated * static_cast<double>(time_of(point.plan).count()) /
         static_cast<double>(point.plan.estimate.iteration.count());
}

std::vector<std::size_t> front_of(const std::vector<FleetPoint>& points) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].plan.estimate.dollars_per_step) order.push_back(i);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const Nanoseconds of_a = time_of(points[a].plan), of_b = time_of(points[b].plan);
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

class FleetSearch {
 public:
  FleetSearch(const PlanQuestion& question, const Fleet& fleet, const SearchOptions& options)
      : fleet_(fleet), options_(options), whole_(question), quiet_(options), mixes_(mixes_of(fleet.choices)) {
    whole_.cluster = fleet.cluster;
    // All nodes of a mix are paid for, so its cheapest plan is its fastest.
    whole_.objective = PlanObjective::kTime;
    quiet_.progress = {};
  }

  FleetAnswer run() {
    SearchCore core(whole_, quiet_, 1);
    look_at_all(core);
    answer_.front = front_of(answer_.points);
    if (options_.proves_front) prove_front(core);
    for (const std::size_t point : answer_.front) {
      if (stops()) break;
      RankedPlan& plan = answer_.points[point].plan;
      plan.simulated = simulate_plan(whole_, plan.candidate).iteration_time;
    }
    answer_.front = front_of(answer_.points);
    return std::move(answer_);
  }

 private:
  using Mix = std::vector<std::int32_t>;  // nodes by choice

  bool stops() const { return options_.stop && options_.stop(); }

  void show(std::size_t done, std::size_t total) const {
    if (options_.progress)
      options_.progress({.done = static_cast<std::int64_t>(done),
                         .total = static_cast<std::int64_t>(total),
                         .evaluated = answer_.evaluated,
                         .best = fastest_});
  }

  std::vector<std::int32_t> nodes_of(const Mix& mix) const {
    std::vector<std::int32_t> nodes(fleet_.cluster.kinds.size());
    for (std::size_t i = 0; i < mix.size(); ++i)
      nodes[static_cast<std::size_t>(fleet_.choices[i].kind)] += mix[i];
    return nodes;
  }

  CoreRequest request_of(const Mix& mix, std::optional<RankedPlan> known, bool proves) const {
    std::vector<NodeRun> rented;
    for (std::size_t i = 0; i < mix.size(); ++i)
      if (mix[i] > 0) rented.push_back({.kind = fleet_.choices[i].kind, .count = mix[i], .devices = 1});
    return {.nodes = nodes_of(mix),
            .known = std::move(known),
            .dollars_per_hour = dollars_per_hour(fleet_.cluster, rented),
            .proves = proves,
            .all_nodes = true};
  }

  static std::int64_t nodes_in(const RankedPlan& plan) {
    std::int64_t used = 0;
    for (const NodeRun& run : plan.candidate.nodes) used += run.count;
    return used;
  }

  void look_at_all(SearchCore& core) {
    BalancedPlans all_plans(whole_);
    std::map<Mix, RankedPlan> best;
    for (std::size_t done = 0; done < mixes_.size() && !answer_.stopped; ++done) {
      show(done, mixes_.size());
      const Mix& mix = mixes_[done];
      const std::int64_t count = std::accumulate(mix.begin(), mix.end(), std::int64_t{0});
      if (count == 0) continue;
      ++answer_.subclusters;
      std::optional<RankedPlan> known = known_plan(best, mix);
      if (options_.every && mixes_.size() <= kMostMixesWhole) {
        BalancedPlans::Found balanced = all_plans.run(nodes_of(mix), options_.every, options_.stop);
        answer_.evaluated += balanced.evaluated;
        const bool limited = whole_.limits.step_time || whole_.limits.dollars_per_million_tokens;
        if (balanced.fastest && !limited &&
            (!known || balanced.fastest->estimate.iteration < known->estimate.iteration))
          known = std::move(balanced.fastest);
      }
      CoreAnswer found = core.run(request_of(mix, std::move(known), false));
      answer_.evaluated += found.evaluated;
      answer_.stopped = found.stopped;
      if (found.plans.empty()) continue;
      RankedPlan& plan = found.plans.front();
      if (!fastest_ || plan.estimate.iteration < *fastest_) fastest_ = plan.estimate.iteration;
      if (nodes_in(plan) == count) answer_.points.push_back({.counts = mix, .plan = plan});
      best.insert_or_assign(mix, std::move(plan));
    }
  }

  // What a mix of the front gains may put others behind it, and what others lose brings new ones: until all
  // that are on it are searched.
  void prove_front(SearchCore& core) {
    std::map<Mix, double> gaps;
    if (answer_.front.empty()) return;
    const std::int64_t work =
        options_.effort == 0 ? kNeverEnds : kFrontEffort / std::ssize(answer_.front) * options_.effort;
    while (!answer_.stopped) {
      const auto open = std::ranges::find_if(
          answer_.front, [&](std::size_t point) { return !gaps.contains(answer_.points[point].counts); });
      if (open == answer_.front.end()) break;
      show(mixes_.size() + gaps.size(), mixes_.size() + gaps.size() + answer_.front.size());
      FleetPoint& point = answer_.points[*open];
      CoreRequest request = request_of(point.counts, point.plan, true);
      request.work = work;
      const CoreAnswer found = core.run(request);
      answer_.evaluated += found.evaluated;
      answer_.stopped = found.stopped;
      const RankedPlan& plan = found.plans.front();
      const double seconds = objective_of(PlanObjective::kTime, plan.estimate);
      gaps[point.counts] = std::max(0.0, (seconds - found.lower_bound) / seconds);
      // A plan that leaves nodes out is another mix's.
      if (nodes_in(plan) == nodes_in(point.plan)) point.plan = plan;
      answer_.front = front_of(answer_.points);
    }
    for (FleetPoint& point : answer_.points)
      if (const auto known = gaps.find(point.counts); known != gaps.end()) point.gap = known->second;
  }

  const Fleet& fleet_;
  const SearchOptions& options_;
  PlanQuestion whole_;
  SearchOptions quiet_;
  const std::vector<Mix> mixes_;
  FleetAnswer answer_;
  std::optional<Nanoseconds> fastest_;
};

}  // namespace

FleetAnswer search_fleet(const PlanQuestion& question, const Fleet& fleet, const SearchOptions& options) {
  return FleetSearch(question, fleet, options).run();
}

ConfirmedFront confirmed_front(const PlanQuestion& question, std::vector<RankedPlan> plans,
                               const std::function<bool(std::int64_t, std::int64_t)>& go_on) {
  std::int64_t done = 0;
  for (RankedPlan& plan : plans) {
    if (!go_on(done++, std::ssize(plans))) break;
    if (!plan.simulated) plan.simulated = simulate_plan(question, plan.candidate).iteration_time;
  }
  std::ranges::stable_sort(plans, {}, time_of);
  ConfirmedFront front;
  std::optional<double> least;
  for (RankedPlan& plan : plans) {
    const std::optional<double> hourly = dollars_per_hour(question.cluster, plan.candidate.nodes);
    const double dollars = hourly.value_or(0) * static_cast<double>(time_of(plan).count());
    const bool better = hourly && (!least || dollars < *least);
    if (better) least = dollars;
    (better ? front.best : front.behind).push_back(std::move(plan));
  }
  return front;
}

}  // namespace nadi::inline predict
