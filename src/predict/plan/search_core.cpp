#include "nadi/plan/search_core.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/worker_threads.h"

namespace nadi::inline predict {
namespace {

constexpr double kNoObjective = std::numeric_limits<double>::infinity();
constexpr double kNanosecondsPerHour = 3600e9;

// Settings that are worked on with the same knowledge: few enough that most know a good plan, enough to keep
// threads busy.
constexpr std::size_t kBatch = 16;
// The same of the proof, where one setting may take seconds.
constexpr std::size_t kProofBatch = 4;

// Bounds that the search in depth may work out for one setting at first; by how much that grows each time
// that the proof of the best comes to it again; and the work of the proof altogether (PartitionAnswer::work),
// which takes 5 to 20 s.
constexpr std::int64_t kFirstEffort = 20'000;
constexpr std::int64_t kMoreEffort = 4;
constexpr std::int64_t kProofEffort = 1'200'000'000;
// A gap that is no wider than this is worth a quarter of that.
constexpr double kNarrowGap = 0.01;

// Whether some placement of the stages takes all of these nodes.
bool can_use_all(const PlanQuestion& question, const PlanSetting& grid,
                 const std::vector<std::int32_t>& nodes) {
  const auto counts = node_counts(stage_makes(question, grid, nodes), nodes);
  return std::ranges::find(counts, nodes) != counts.end();
}

}  // namespace

struct SearchCore::Task {
  PlanSetting setting;
  std::vector<std::int32_t> nodes;
  double dollars_per_hour = 0;
  double bound = 0;  // of the objective: nothing of this task is below it
  std::int64_t number = 0;
};

struct SearchCore::Outcome {
  SettingAnswer answer;
  std::optional<PlanEstimate> estimate = {};
  double bound = kNoObjective;
  std::vector<PlanCandidate> evaluated = {};  // where the caller wants them all
};

struct SearchCore::Worker {
  explicit Worker(const PlanQuestion& question) : estimator(question), search(question, estimator) {}
  PlanEstimator estimator;
  SettingSearch search;
};

SearchCore::SearchCore(const PlanQuestion& question, const SearchOptions& options, std::size_t keep)
    : question_(question), options_(options), keep_(std::max<std::size_t>(1, keep)) {
  for (int i = 0; i < std::max(1, options.threads); ++i)
    workers_.push_back(std::make_unique<Worker>(question));
  speeds_ = std::make_unique<SpeedBound>(question, workers_.front()->estimator);
}
SearchCore::~SearchCore() = default;

std::optional<double> SearchCore::price_of(std::span<const std::int32_t> nodes) const {
  std::vector<NodeRun> runs;
  for (std::int32_t kind = 0; kind < std::ssize(nodes); ++kind)
    if (nodes[static_cast<std::size_t>(kind)] > 0)
      runs.push_back({.kind = kind, .count = nodes[static_cast<std::size_t>(kind)], .devices = 1});
  return dollars_per_hour(question_.cluster, runs);
}

double SearchCore::objective_of_time(const Task& task, std::int64_t nanoseconds) const {
  if (nanoseconds >= kNeverEnds) return kNoObjective;
  switch (question_.objective) {
    case PlanObjective::kTime:
      return static_cast<double>(nanoseconds) * 1e-9;
    case PlanObjective::kCost:
      return task.dollars_per_hour / kNanosecondsPerHour * static_cast<double>(nanoseconds);
    case PlanObjective::kMemory:
      return 0;  // time says nothing of memory
  }
  unreachable();
}

std::int64_t SearchCore::time_of_objective(const Task& task, double objective) const {
  if (objective == kNoObjective || question_.objective == PlanObjective::kMemory) return kNeverEnds;
  if (question_.objective == PlanObjective::kTime) {
    const double nanoseconds = objective * 1e9;
    return nanoseconds < static_cast<double>(kNeverEnds) ? std::llround(nanoseconds) : kNeverEnds;
  }
  // The first whole nanosecond that is not cheaper; what is left of it in floating point is none.
  constexpr double kRounding = 1e-3;
  const double nanoseconds = std::ceil(objective / task.dollars_per_hour * kNanosecondsPerHour - kRounding);
  return nanoseconds < static_cast<double>(kNeverEnds) ? static_cast<std::int64_t>(nanoseconds) : kNeverEnds;
}

// The longest step that keeps to the limits.
std::int64_t SearchCore::time_limit(const Task& task) const {
  std::int64_t limit = kNeverEnds;
  if (question_.limits.step_time) limit = std::min(limit, question_.limits.step_time->count());
  if (question_.limits.dollars_per_million_tokens) {
    const double tokens = static_cast<double>(question_.global_batch_size * question_.request.seq_length);
    const double dollars = *question_.limits.dollars_per_million_tokens * tokens * 1e-6;
    const double longest = dollars / task.dollars_per_hour * kNanosecondsPerHour;
    if (longest < static_cast<double>(limit)) limit = static_cast<std::int64_t>(longest);
  }
  return limit;
}

void SearchCore::add_tasks(std::vector<Task>& tasks, const PlanSetting& setting, const CoreRequest& request) {
  // Several virtual stages hold more than one does; they may be what keeps to a limit.
  if (question_.objective == PlanObjective::kMemory && setting.plan.virtual_stages > 1 && !has_time_limit())
    return;
  const bool by_price = !request.dollars_per_hour && (question_.objective == PlanObjective::kCost ||
                                                      question_.limits.dollars_per_million_tokens);
  std::vector<std::vector<std::int32_t>> node_sets{request.nodes};
  if (by_price) node_sets = node_counts(stage_makes(question_, setting, request.nodes), request.nodes);
  for (std::vector<std::int32_t>& nodes : node_sets) {
    Task task{.setting = setting, .nodes = std::move(nodes)};
    if (const auto price = request.dollars_per_hour ? request.dollars_per_hour : price_of(task.nodes))
      task.dollars_per_hour = *price;
    else if (by_price)
      throw usage_error(format("{} has nodes without a price", question_.cluster.name),
                        "add \"price\" to each kind of node of the cluster, or ask for the shortest step");
    const std::int64_t time = speeds_->of(task.setting, task.nodes);
    if (time > time_limit(task)) continue;
    task.bound = objective_of_time(task, time);
    tasks.push_back(std::move(task));
  }
}

std::vector<SearchCore::Task> SearchCore::grids_of(const CoreRequest& request) {
  std::int64_t devices = 0;
  for (std::size_t kind = 0; kind < request.nodes.size(); ++kind)
    devices += request.nodes[kind] * question_.cluster.kinds[kind].devices;
  std::vector<Task> grids;
  for (PlanSetting& grid : plan_grids(question_, devices)) {
    if (request.all_nodes && !can_use_all(question_, grid, request.nodes)) continue;
    Task task{.setting = std::move(grid), .nodes = {}};
    // Cheaper nodes may be fewer, so money says nothing yet.
    if (question_.objective == PlanObjective::kTime)
      task.bound = objective_of_time(task, speeds_->of_grid(task.setting, request.nodes));
    grids.push_back(std::move(task));
  }
  std::ranges::stable_sort(grids, std::greater{}, &Task::bound);
  return grids;
}

// Takes the tasks with the least bounds. `open` and `grids` are heaps of tasks and of what tasks are made
// from, the least bound last or on top.
std::vector<SearchCore::Task> SearchCore::next_batch(std::vector<Task>& open, std::vector<Task>& grids,
                                                     const CoreRequest& request, double better_than) {
  const auto later = [](const Task& a, const Task& b) {
    return a.bound != b.bound ? a.bound > b.bound : a.number > b.number;
  };
  std::vector<Task> batch;
  while (batch.size() < kBatch) {
    while (!grids.empty() && grids.back().bound < better_than &&
           (open.empty() || grids.back().bound <= open.front().bound)) {
      const std::size_t before = open.size();
      for (const PlanSetting& setting : settings_of(question_, grids.back().setting))
        add_tasks(open, setting, request);
      grids.pop_back();
      for (std::size_t i = before; i < open.size(); ++i) {
        open[i].number = tasks_made_++;
        std::push_heap(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(i) + 1, later);
      }
    }
    if (open.empty() || open.front().bound >= better_than) break;
    std::pop_heap(open.begin(), open.end(), later);
    batch.push_back(std::move(open.back()));
    open.pop_back();
  }
  return batch;
}

SearchCore::Outcome SearchCore::solve(Worker& worker, const Task& task, double better_than,
                                      const Care& care) const {
  Outcome outcome;
  SettingRequest request{.setting = task.setting, .nodes = task.nodes, .effort = care.effort};
  request.few_orders = care.few_orders && question_.objective != PlanObjective::kMemory;
  if (options_.every)
    request.every = [&](const PlanCandidate& candidate) { outcome.evaluated.push_back(candidate); };
  if (question_.objective == PlanObjective::kMemory)
    return solve_memory(worker, task, better_than, std::move(request));
  const std::int64_t limit = time_limit(task);
  request.effort.better_than =
      std::min(time_of_objective(task, better_than), limit < kNeverEnds ? limit + 1 : kNeverEnds);
  outcome.answer = worker.search.run(request);
  outcome.bound = objective_of_time(task, outcome.answer.lower_bound);
  if (outcome.answer.lower_bound > limit) outcome.bound = kNoObjective;
  if (!outcome.answer.all_orders) outcome.bound = 0;
  if (outcome.answer.candidate) outcome.estimate = worker.estimator.of(*outcome.answer.candidate);
  return outcome;
}

// The least memory with which some plan keeps to the limits, and the fastest plan within it. More memory
// allows more plans, so that the least is found by halving: among what stages may need, or, where that is in
// no table, among all numbers of bytes.
SearchCore::Outcome SearchCore::solve_memory(Worker& worker, const Task& task, double better_than,
                                             SettingRequest request) const {
  Outcome outcome;
  const auto least = worker.search.least_memory(request);
  if (!least) return outcome;
  outcome.answer.placed = outcome.answer.has_room = true;
  outcome.bound = static_cast<double>(least->count());
  if (outcome.bound > better_than) return outcome;
  const std::int64_t limit = time_limit(task);
  request.effort.better_than = limit < kNeverEnds ? limit + 1 : kNeverEnds;
  bool proven = true;
  if (options_.every)
    request.every = [&](const PlanCandidate& candidate) { outcome.evaluated.push_back(candidate); };
  // Whether a plan needs no more than that.
  const auto suffices = [&](std::optional<Bytes> memory) {
    request.memory = memory;
    const std::int64_t before = outcome.answer.evaluated;
    SettingAnswer answer = worker.search.run(request);
    answer.evaluated += before;
    if (!answer.candidate) {
      proven = proven && answer.lower_bound > limit;
      outcome.answer.evaluated = answer.evaluated;
      return false;
    }
    outcome.answer = std::move(answer);
    outcome.estimate = worker.estimator.of(*outcome.answer.candidate);
    return true;
  };
  const auto memory_of_answer = [&] {
    return static_cast<std::int64_t>(objective_of(PlanObjective::kMemory, *outcome.estimate));
  };
  if (suffices(least) || !has_time_limit()) return outcome;
  const double unproven = outcome.bound;
  std::optional<Bytes> most;
  if (better_than < kNoObjective) most = Bytes{static_cast<std::int64_t>(better_than)};
  if (suffices(most)) {
    std::int64_t below = least->count(), enough = memory_of_answer();
    const std::vector<Bytes> sizes = worker.search.memory_sizes(request);
    while (enough - below > 1) {
      std::int64_t middle = below + (enough - below) / 2;
      if (!sizes.empty()) {
        // The middle one of those between both.
        const auto first = std::ranges::upper_bound(sizes, Bytes{below});
        const auto end = std::ranges::lower_bound(sizes, Bytes{enough});
        if (first >= end) break;
        middle = (first + (end - first) / 2)->count();
      }
      if (suffices(Bytes{middle}))
        enough = memory_of_answer();
      else
        below = middle;
    }
    outcome.bound = static_cast<double>(enough);
  } else {
    outcome.bound = kNoObjective;
  }
  if (!proven) outcome.bound = unproven;
  return outcome;
}

std::vector<SearchCore::Outcome> SearchCore::solve_batch(std::span<const Task> tasks, double better_than,
                                                         const Care& care) {
  std::vector<Outcome> outcomes(tasks.size());
  parallel_for(tasks.size(), workers_.size(), [&](std::size_t task, std::size_t worker) {
    if (!stops()) outcomes[task] = solve(*workers_[worker], tasks[task], better_than, care);
  });
  return outcomes;
}

double SearchCore::worst_kept(const CoreAnswer& answer) const {
  if (answer.plans.size() < keep_) return kNoObjective;
  return objective_of(question_.objective, answer.plans.back().estimate);
}

void SearchCore::take(CoreAnswer& answer, Outcome& outcome) {
  answer.evaluated += outcome.answer.evaluated;
  answer.work += outcome.answer.work;
  if (outcome.answer.placed && !outcome.answer.has_room) ++answer.out_of_memory;
  if (options_.every)
    for (const PlanCandidate& candidate : outcome.evaluated)
      options_.every(candidate, workers_.front()->estimator.of(candidate));
  if (!outcome.estimate) return;
  RankedPlan plan{.candidate = std::move(*outcome.answer.candidate),
                  .estimate = std::move(*outcome.estimate)};
  // The faster of plans that are equal by the objective, else the one that was found first.
  const auto better = [&](const RankedPlan& a, const RankedPlan& b) {
    const double of_a = objective_of(question_.objective, a.estimate);
    const double of_b = objective_of(question_.objective, b.estimate);
    return of_a != of_b ? of_a < of_b : a.estimate.iteration < b.estimate.iteration;
  };
  answer.plans.insert(std::upper_bound(answer.plans.begin(), answer.plans.end(), plan, better),
                      std::move(plan));
  if (answer.plans.size() > keep_) answer.plans.pop_back();
}

// What was searched with little effort and may still hide something better than the best, again.
void SearchCore::prove(CoreAnswer& answer, std::vector<Task>& tasks, std::int64_t work) {
  const std::int64_t most = options_.effort == 0 ? kNeverEnds / kMoreEffort : kProofEffort * options_.effort;
  const std::int64_t allowed = std::min(options_.proves_little ? most / 10 : most, work);
  std::int64_t left = allowed;
  const auto best_kept = [&] {
    return answer.plans.empty() ? kNoObjective
                                : objective_of(question_.objective, answer.plans.front().estimate);
  };
  for (std::int64_t effort = kFirstEffort; effort <= most && left > 0; effort *= kMoreEffort) {
    std::ranges::stable_sort(tasks, {}, &Task::bound);
    if (tasks.empty() || tasks.front().bound >= best_kept()) break;
    for (std::size_t first = 0; first < tasks.size(); first += kProofBatch) {
      const double best = best_kept();
      std::span<Task> batch = std::span(tasks).subspan(first, std::min(kProofBatch, tasks.size() - first));
      const auto hopeless = std::ranges::find_if(batch, [&](const Task& task) { return task.bound >= best; });
      batch = batch.first(static_cast<std::size_t>(hopeless - batch.begin()));
      if (batch.empty() || left <= 0) break;
      const double lowest = std::ranges::min_element(tasks, {}, &Task::bound)->bound;
      if (options_.effort > 0 && lowest >= best * (1 - kNarrowGap) && left < allowed / 4 * 3) return;
      std::vector<Outcome> outcomes =
          solve_batch(batch, best, {.effort = {.work = std::min(effort, left), .stop = options_.stop}});
      for (std::size_t i = 0; i < batch.size(); ++i) {
        left -= outcomes[i].answer.work;
        batch[i].bound = std::max(batch[i].bound, outcomes[i].bound);
        take(answer, outcomes[i]);
      }
      if (stops()) {
        answer.stopped = true;
        return;
      }
    }
  }
}

CoreAnswer SearchCore::run(const CoreRequest& request) {
  CoreAnswer answer;
  if (request.known) answer.plans.push_back(*request.known);
  std::vector<Task> grids = grids_of(request), open, done;
  const auto total = static_cast<std::int64_t>(grids.size());
  while (true) {
    if (stops()) {
      answer.stopped = true;
      break;
    }
    if (answer.work >= request.work) break;
    std::vector<Task> batch = next_batch(open, grids, request, worst_kept(answer));
    if (batch.empty()) break;
    const PartitionEffort effort = request.proves
                                       ? PartitionEffort{.work = kFirstEffort, .stop = options_.stop}
                                       : PartitionEffort{.work = 0, .labels = 1, .stop = options_.stop};
    std::vector<Outcome> outcomes =
        solve_batch(batch, worst_kept(answer), {.effort = effort, .few_orders = true});
    for (std::size_t i = 0; i < batch.size(); ++i) {
      batch[i].bound = std::max(batch[i].bound, outcomes[i].bound);
      take(answer, outcomes[i]);
      done.push_back(std::move(batch[i]));
    }
    if (options_.progress) {
      SearchProgress progress{
          .done = total - std::ssize(grids), .total = total, .evaluated = answer.evaluated};
      if (!answer.plans.empty()) progress.best = answer.plans.front().estimate.iteration;
      options_.progress(progress);
    }
  }
  if (request.proves && !answer.stopped && question_.objective != PlanObjective::kMemory)
    prove(answer, done, request.work - answer.work);
  answer.lower_bound =
      answer.plans.empty() ? kNoObjective : objective_of(question_.objective, answer.plans.front().estimate);
  for (const std::vector<Task>* tasks : {&grids, &open, &done})
    for (const Task& task : *tasks) answer.lower_bound = std::min(answer.lower_bound, task.bound);
  return answer;
}

std::optional<RankedPlan> SearchCore::nearest_in_memory(const CoreRequest& request) {
  std::optional<RankedPlan> nearest;
  Worker& worker = *workers_.front();
  std::vector<Task> tasks;
  for (const Task& grid : grids_of(request))
    for (const PlanSetting& setting : settings_of(question_, grid.setting))
      add_tasks(tasks, setting, request);
  for (const Task& task : tasks) {
    if (stops()) break;
    const auto candidate = worker.search.smallest({.setting = task.setting, .nodes = task.nodes});
    if (!candidate) continue;
    RankedPlan plan{.candidate = *candidate, .estimate = worker.estimator.of(*candidate)};
    if (!nearest || plan.estimate.missing_memory < nearest->estimate.missing_memory)
      nearest = std::move(plan);
  }
  return nearest;
}

}  // namespace nadi::inline predict
