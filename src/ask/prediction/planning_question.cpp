#include "nadi/prediction/planning_question.h"

#include <algorithm>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/parallel/step_check.h"
#include "nadi/prediction/plan_limits.h"
#include "nadi/prediction/planning_figures.h"
#include "nadi/sim/layer_times.h"

namespace nadi::inline ask {
namespace {

// Parts of a cluster that a front is made of: a search each.
constexpr std::int64_t kMostParts = 2000;

void check_space(const PlanSpace& space) {
  for (const std::int64_t stage : space.zero_stages)
    if (stage < 0 || stage > 1)
      throw usage_error(format("there is no ZeRO stage {}", stage),
                        "0, or 1, which splits the optimizer's state");
  if (!space.partition.empty() && !space.uneven_partitions)
    throw usage_error("a partition and even partitions alone contradict each other");
}

PlanLimits limits_of(const PlanningQuestion& question, std::int64_t tokens_per_step) {
  PlanLimits limits;
  if (!question.budget.empty())
    limits.dollars_per_million_tokens = parse_budget(question.budget, tokens_per_step);
  if (!question.deadline.empty()) limits.step_time = parse_deadline(question.deadline, tokens_per_step);
  limits.memory_share = question.memory_share.value_or(limits.memory_share);
  if (!(limits.memory_share > 0 && limits.memory_share <= 1))
    throw usage_error(format("a memory share of {}: it is above 0 and at most 1", limits.memory_share));
  return limits;
}

Cluster cluster_to_plan_for(const PlanningQuestion& question) {
  Cluster cluster = cluster_of(question.on);
  if (!question.ranks) return cluster;
  return cluster.for_ranks(static_cast<std::int32_t>(std::min<std::int64_t>(*question.ranks, 1 << 30)));
}

// What is asked of each mix of nodes: its fastest plan, which is its cheapest, too.
PlanQuestion by_time(PlanQuestion question) {
  question.objective = PlanObjective::kTime;
  return question;
}

// The front by the simulator's times, and all other points behind it. `known`: plans that are candidates for it, too.
void confirm_front(PlanningAnswer& answer, const FleetAnswer& found, std::vector<RankedPlan> known,
                   const PlanningWatch& watch) {
  std::vector<RankedPlan> best = std::move(known);
  for (const std::size_t i : found.front) best.push_back(found.points[i].plan);
  const auto go_on = [&](std::int64_t done, std::int64_t total) {
    return !watch.front || watch.front(done, total);
  };
  ConfirmedFront front = confirmed_front(answer.asked.question, std::move(best), go_on);
  answer.front = std::move(front.best);
  answer.behind = std::move(front.behind);
  for (std::size_t i = 0; i < found.points.size(); ++i)
    if (std::ranges::find(found.front, i) == found.front.end()) answer.behind.push_back(found.points[i].plan);
  answer.subclusters = found.subclusters;
  answer.front_evaluated = found.evaluated;
}

std::optional<double> gap_of_front(const FleetAnswer& found) {
  double gap = 0;
  for (const std::size_t i : found.front) {
    if (!found.points[i].gap) return std::nullopt;
    gap = std::max(gap, *found.points[i].gap);
  }
  return gap;
}

void search_mixes(PlanningAnswer& answer, const PlanningWatch& watch) {
  const PlanQuestion& question = answer.asked.question;
  SearchOptions options = watch.search;
  // The one who wants to see every plan has asked for enough.
  options.proves_front = !options.every;
  const FleetAnswer found = search_fleet(by_time(question), *answer.asked.fleet, options);
  if (watch.searched) watch.searched();
  if (found.points.empty()) {
    if (found.stopped)
      answer.found.stopped = true;
    else
      answer.found = search_plans(question, {.top = 1, .stop = watch.search.stop});
    return;
  }
  confirm_front(answer, found, {}, watch);
  PlanAnswer& plans = answer.found;
  plans.evaluated = found.evaluated;
  plans.stopped = found.stopped;
  plans.plans = answer.front;
  plans.plans.insert(plans.plans.end(), answer.behind.begin(), answer.behind.end());
  rank_plans(question.objective, plans.plans, watch.search.top);
  for (const RankedPlan& plan : plans.plans) plans.simulated += plan.simulated ? 1 : 0;
  answer.front_gap = gap_of_front(found);
}

}  // namespace

void rank_plans(PlanObjective objective, std::vector<RankedPlan>& plans, std::int64_t top) {
  std::ranges::stable_sort(plans, {}, [&](const RankedPlan& plan) { return objective_of(objective, plan); });
  if (std::ssize(plans) > top) plans.resize(static_cast<std::size_t>(top));
}

ResolvedPlanning resolve(const PlanningQuestion& question) {
  check_space(question.space);
  std::optional<Fleet> fleet;
  if (!question.fleet.empty()) {
    if (!question.on.cluster.empty() || question.on.hardware || question.ranks)
      throw usage_error("a fleet and a cluster contradict each other");
    fleet = read_fleet(question.fleet);
  }
  Cluster cluster = fleet ? fleet->cluster : cluster_to_plan_for(question);
  ResolvedStep step = resolve_unsplit_step(question.step);
  PredictionAssumptions assumed = assume(question.on, cluster, cluster.device_count(), step);
  check_request(step.config, step.request);
  ResolvedPlanning asked{.question = {.config = std::move(step.config),
                                      .dropout = question.step.dropout,
                                      .request = step.request,
                                      .global_batch_size = step.request.batch_size,
                                      .cluster = std::move(cluster),
                                      .framework = assumed.framework->name,
                                      .overlap = assumed.overlap,
                                      .collective = question.on.collective,
                                      .space = question.space,
                                      .objective = question.objective},
                         .assumed = std::move(assumed),
                         .work = {},
                         .fleet = std::move(fleet)};
  PlanQuestion& resolved = asked.question;
  if (!question.on.layer_times.empty()) resolved.layer_times = LayerTimes::read(question.on.layer_times);
  resolved.limits = limits_of(question, checked_multiply(resolved.global_batch_size,
                                                         resolved.request.seq_length, "tokens of a step"));
  asked.work = question_work(resolved);
  return asked;
}

PlanningAnswer plan(ResolvedPlanning asked, const PlanningWatch& watch) {
  PlanningAnswer answer{.asked = std::move(asked), .found = {}, .front = {}, .behind = {}};
  if (answer.asked.fleet) {
    search_mixes(answer, watch);
    return answer;
  }
  answer.found = search_plans(answer.asked.question, watch.search);
  if (watch.searched) watch.searched();
  return answer;
}

PlanningAnswer plan(const PlanningQuestion& question, const SearchOptions& options) {
  const PlanningWatch watch{.search = options};
  PlanningAnswer answer = plan(resolve(question), watch);
  if (question.front && !answer.asked.fleet && !answer.found.plans.empty()) add_front(answer, watch);
  return answer;
}

// On given nodes money goes with time: the front of all plans is that of the fastest on each part of the cluster.
void add_front(PlanningAnswer& answer, const PlanningWatch& watch) {
  const PlanQuestion& question = answer.asked.question;
  if (!answer.found.plans.at(0).estimate.dollars_per_step)
    throw usage_error(format("no front of time and money: nodes of {} have no price", question.cluster.name),
                      "\"price\": \"9.77 $/h\" of a node in the cluster file gives it one");
  const Fleet parts = parts_of(question.cluster, kMostParts);
  SearchOptions options = watch.search;
  options.every = {};
  const FleetAnswer found = search_fleet(by_time(question), parts, options);
  if (watch.searched) watch.searched();
  confirm_front(answer, found, answer.found.plans, watch);
  answer.parts = parts.choices;
}

}  // namespace nadi::inline ask
