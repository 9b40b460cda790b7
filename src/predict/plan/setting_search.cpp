#include "nadi/plan/setting_search.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/parallel/step_program.h"
#include "nadi/plan/interleaved_search.h"
#include "nadi/plan/spread_search.h"
#include "nadi/plan/stage_room.h"

namespace nadi::inline predict {

std::vector<std::int64_t> given_partition(const PlanQuestion& question, const Plan& plan) {
  if (std::ssize(question.space.partition) == plan.pp * plan.virtual_stages) return question.space.partition;
  if (question.space.uneven_partitions) return {};
  return resolved_partition(question.config, plan);
}

struct SettingSearch::Placed {
  StageMakes makes = {};
  StageRoom room = {};
  std::vector<std::int64_t> given = {};  // layers by virtual stage; empty means any
  StagesProblem problem = {};
  std::vector<std::vector<std::int32_t>> orders = {};      // that the costs are from
  std::vector<bool> filled = {};                           // by stage and make
  std::vector<std::span<const Bytes>> memory = {};         // by stage and make
  std::int64_t embedding = kNeverEnds, tied = kNeverEnds;  // nanoseconds, the least of all orders
  // With several virtual stages: what follows the pipeline, of stages that are alike in it.
  struct KnownAfter {
    ReductionRequestOfStage request;
    std::vector<std::optional<StageAfter>> by_layers = {};
  };
  std::vector<KnownAfter> after = {};

  // Layers by stage or by chunk.
  std::vector<std::int64_t> over_chunks(const Plan& plan, std::span<const std::int64_t> layers) const {
    if (!given.empty()) return given;
    if (std::ssize(layers) == plan.pp * plan.virtual_stages) return {layers.begin(), layers.end()};
    return spread_over_chunks(layers, plan.virtual_stages);
  }
};

SettingSearch::SettingSearch(const PlanQuestion& question, PlanEstimator& estimator)
    : question_(question), estimator_(estimator) {}

const PlanTables& SettingSearch::tables_of(const SettingRequest& request, const StageMakes& makes,
                                           std::span<const std::int32_t> order) {
  if (tables_ == nullptr || !std::ranges::equal(order_, order)) {
    tables_ = &estimator_.tables(candidate_of(request.setting, runs_of(makes, order)));
    order_.assign(order.begin(), order.end());
  }
  return *tables_;
}

namespace {

// Limits of a quick search: as many orders as are tried at most, how many of them always, and by which part those
// may miss what is asked for and still make the others worth a try.
constexpr std::size_t kMostFewOrders = 24, kFirstOrders = 2;
constexpr std::int64_t kNear = 10;

// Orders of stages that are searched by paths: more take too long.
constexpr std::size_t kMostSpreadOrders = 64;

// All where they are few, else those in which equal stages stand together.
std::vector<std::vector<std::int32_t>> few_orders(const StageMakes& makes,
                                                  std::span<const std::int32_t> nodes) {
  std::vector<std::vector<std::int32_t>> orders = orders_of_runs(makes, nodes, kMostFewOrders);
  for (std::vector<std::int32_t>& order : all_orders(makes, nodes, kMostFewOrders))
    if (std::ranges::find(orders, order) == orders.end()) orders.push_back(std::move(order));
  return orders;
}

PartitionCosts costs_of(const PlanTables& tables, std::size_t stage, std::size_t layers) {
  const ChunkTable& chunk = tables.chunks[stage];
  const StageTable& after = tables.stages[stage];
  const PassTimes &forward = chunk.forward[layers], &backward = chunk.backward[layers];
  return {.forward = forward.run.count(),
          .backward = backward.run.count(),
          .forward_after = forward.after_input.count(),
          .backward_after = backward.after_input.count(),
          .launch = forward.launch.count() + backward.launch.count(),
          .start = after.start[layers].count(),
          // Without a norm of all gradients, a stage updates when its own are there.
          .tail = after.reduction[layers].count() + (tables.norm_joins ? 0 : after.update[layers].count()),
          .update = tables.norm_joins ? after.update[layers].count() : 0};
}

// Costs of all chunks of a stage, whose layers are given by virtual stage, up to its last backward.
PartitionCosts costs_of_chunks(const PlanTables& tables, std::size_t stage,
                               std::span<const std::int64_t> partition) {
  PartitionCosts costs;
  for (std::size_t c = stage; c < partition.size(); c += tables.stages.size()) {
    const auto held = static_cast<std::size_t>(partition[c]);
    const PassTimes &forward = tables.chunks[c].forward[held], &backward = tables.chunks[c].backward[held];
    costs.launch += forward.launch.count() + backward.launch.count();
    costs.add_chunk({.forward = forward.run.count(),
                     .backward = backward.run.count(),
                     .forward_after = forward.after_input.count(),
                     .backward_after = backward.after_input.count(),
                     .empty = forward.empty || backward.empty});
  }
  return costs;
}

}  // namespace

// Costs of the stages of an order, each with the make that it has there, and messages between its makes.
void SettingSearch::fill(Placed& placed, const SettingRequest& request, std::span<const std::int32_t> order) {
  StagesProblem& problem = placed.problem;
  const bool interleaved = request.setting.plan.virtual_stages > 1;
  const PlanTables& tables = tables_of(request, placed.makes, order);
  const auto row = static_cast<std::size_t>(problem.layers + 1), makes = problem.kinds.size();
  std::int64_t place = 0;
  for (std::size_t s = 0; s < order.size(); ++s) {
    const auto make = static_cast<std::size_t>(order[s]);
    PartitionStageKind& kind = problem.kinds[make];
    if (!placed.filled[s * makes + make]) {
      placed.filled[s * makes + make] = true;
      problem.most_layers[s * makes + make] = placed.room.most_layers[s * makes + make];
      if (interleaved) {
        fill_chunks(placed, tables, s, make);
      } else {
        for (std::size_t l = 0; l < row; ++l)
          problem.costs[(s * makes + make) * row + l] = costs_of(tables, s, l);
        placed.memory[s * makes + make] = tables.stages[s].memory;
      }
    }
    if (s + 1 == order.size()) break;
    const PartitionSend send{.activations = tables.activations[s].count(),
                             .gradients = tables.gradients[s].count()};
    const auto next = static_cast<std::size_t>(order[s + 1]);
    if (++place < kind.stages_per_block) {
      kind.send_within = send;
    } else {
      place = 0;
      problem.send_between[make * makes + next] = send;
    }
  }
  problem.after_tails = std::min(problem.after_tails, tables.norm.count());
  if (interleaved) return;
  placed.embedding = std::min(placed.embedding, tables.embedding_reduction.count());
  for (const StageTable* stage : {&tables.stages.front(), &tables.stages.back()})
    placed.tied = std::min(placed.tied, stage->reductions->tied.count());
}

void SettingSearch::fill_chunks(Placed& placed, const PlanTables& tables, std::size_t stage,
                                std::size_t make) {
  StagesProblem& problem = placed.problem;
  const std::size_t place = stage * problem.kinds.size() + make;
  const std::int64_t most = problem.most_layers[place];
  const ReductionRequestOfStage& after = tables.stages[stage].after;
  auto known = std::ranges::find(placed.after, after, &Placed::KnownAfter::request);
  if (known == placed.after.end())
    known = placed.after.insert(
        known,
        {.request = after,
         .by_layers = std::vector<std::optional<StageAfter>>(static_cast<std::size_t>(problem.layers + 1))});
  std::int64_t first = 0, last = most;
  if (!problem.given_layers.empty()) last = std::min(most, first = problem.given_layers[stage]);
  for (std::int64_t l = first; l <= last; ++l) {
    const std::vector<std::int64_t> partition =
        placed.over_chunks(tables.plan, std::vector<std::int64_t>(tables.stages.size(), l));
    PartitionCosts costs = costs_of_chunks(tables, stage, partition);
    std::optional<StageAfter>& end = known->by_layers[static_cast<std::size_t>(l)];
    if (!end) end = estimator_.least_after(tables, static_cast<std::int64_t>(stage), partition);
    costs.tail = end->reduction.count();
    (tables.norm_joins ? costs.update : costs.tail) += end->update.count();
    problem.costs[place * static_cast<std::size_t>(problem.layers + 1) + static_cast<std::size_t>(l)] = costs;
  }
}

// Word embeddings that the first and the last stage share are reduced over both, then over data-parallel
// ranks.
void SettingSearch::add_embedding(Placed& placed) const {
  if (placed.embedding == 0 || placed.embedding >= kNeverEnds) return;
  StagesProblem& problem = placed.problem;
  const std::size_t stage_costs = problem.kinds.size() * static_cast<std::size_t>(problem.layers + 1);
  const auto add = [&](PartitionCosts& costs) {
    costs.tail = std::max(costs.tail, placed.embedding) + placed.tied;
  };
  std::for_each_n(problem.costs.begin(), stage_costs, add);
  std::for_each_n(problem.costs.rbegin(), stage_costs, add);
}

SettingSearch::Placed SettingSearch::place(const SettingRequest& request) {
  tables_ = nullptr;  // those of another setting
  const Plan& plan = request.setting.plan;
  Placed placed{.makes = stage_makes(question_, request.setting, request.nodes)};
  if (placed.makes.makes.empty()) return placed;
  if (request.few_orders && plan.virtual_stages == 1) placed.orders = few_orders(placed.makes, request.nodes);
  if (placed.orders.empty())
    placed.orders = covering_orders(placed.makes, request.nodes, request.effort.stop);
  placed.given = given_partition(question_, plan);
  placed.room = stage_room(
      question_, estimator_,
      {.setting = request.setting, .makes = placed.makes, .memory = request.memory, .given = placed.given});
  if (!placed.room.holds(question_.config.layers)) return placed;
  StagesProblem& problem = placed.problem;
  problem.shape = shape_of(plan);
  problem.layers = question_.config.layers;
  problem.nodes = request.nodes;
  for (const StageMake& make : placed.makes.makes) {
    PartitionStageKind kind{.nodes = std::vector<std::int32_t>(request.nodes.size()),
                            .stages_per_block = make.stages};
    for (const NodeRun& run : make.nodes) kind.nodes[static_cast<std::size_t>(run.kind)] = run.count;
    problem.kinds.push_back(std::move(kind));
  }
  if (!placed.given.empty()) {
    problem.given_layers.assign(static_cast<std::size_t>(plan.pp), 0);
    for (std::size_t c = 0; c < placed.given.size(); ++c)
      problem.given_layers[c % problem.given_layers.size()] += placed.given[c];
  }
  const std::size_t makes = problem.kinds.size(), places = static_cast<std::size_t>(plan.pp) * makes;
  problem.costs.resize(places * static_cast<std::size_t>(problem.layers + 1));
  problem.most_layers.assign(places, -1);
  problem.send_between.assign(makes * makes, {});
  problem.after_tails = kNeverEnds;
  placed.filled.resize(places);
  placed.memory.resize(places);
  // The first of few orders; others where it comes to them.
  const std::size_t now =
      request.few_orders ? std::min(kFirstOrders, placed.orders.size()) : placed.orders.size();
  for (std::size_t i = 0; i < now; ++i) fill(placed, request, placed.orders[i]);
  if (!placed.orders.empty()) add_embedding(placed);
  return placed;
}

// What the problems of a setting minimise.
std::int64_t SettingSearch::time_of(const SettingRequest& request, const Placed& placed,
                                    std::span<const std::int32_t> order,
                                    std::span<const std::int64_t> layers) {
  const PlanTables& tables = tables_of(request, placed.makes, order);
  if (request.every) request.every(candidate(request, placed, order, layers));
  const std::vector<std::int64_t> chunks = placed.over_chunks(tables.plan, layers);
  if (estimator_.missing_memory(tables, chunks, request.memory).count() > 0) return kNeverEnds;
  return estimator_.iteration(tables, chunks).count();
}

void SettingSearch::minimise_time(PartitionProblem& problem, const SettingRequest& request,
                                  const Placed& placed) {
  problem.exact = [&](std::span<const std::int32_t> order, std::span<const std::int64_t> layers) {
    return time_of(request, placed, order, layers);
  };
}

PlanCandidate SettingSearch::candidate(const SettingRequest& request, const Placed& placed,
                                       std::span<const std::int32_t> order,
                                       std::span<const std::int64_t> layers) {
  return candidate_of(request.setting, runs_of(placed.makes, order),
                      placed.over_chunks(request.setting.plan, layers));
}

namespace {

// The best of several problems; where each is a part of what there is, the bound is the least.
void take(PartitionAnswer& best, PartitionAnswer found) {
  best.evaluated += found.evaluated;
  best.work += found.work;
  best.lower_bound = std::min(best.lower_bound, found.lower_bound);
  if (!found.found()) return;
  best.kinds = std::move(found.kinds);
  best.layers = std::move(found.layers);
  best.nanoseconds = found.nanoseconds;
}

}  // namespace

SettingAnswer SettingSearch::run(const SettingRequest& request) {
  SettingAnswer answer;
  Placed placed = place(request);
  if (placed.orders.empty()) return answer;
  answer.placed = true;
  if (!placed.room.holds(question_.config.layers)) return answer;
  minimise_time(placed.problem, request, placed);
  PartitionAnswer best;
  best.lower_bound = kNeverEnds;
  const Plan& plan = request.setting.plan;
  const bool may_move = placed.given.empty() && plan.virtual_stages > 1;
  if (!may_move || request.effort.work == 0 || !try_all(best, request, placed)) {
    answer.all_orders = !request.few_orders || placed.makes.makes.size() == 1;
    if (answer.all_orders)
      search_orders(best, request, placed);
    else
      search_few_orders(best, request, placed);
    if (may_move && request.effort.work > 0) improve(best, request, placed);
  }
  answer.evaluated = best.evaluated;
  answer.work = best.work;
  answer.lower_bound = best.lower_bound;
  answer.has_room = best.lower_bound < kNeverEnds;
  // What only came near made other orders worth a look; it is no answer: it may miss a limit.
  if (!best.found() || best.nanoseconds >= request.effort.better_than) return answer;
  answer.nanoseconds = best.nanoseconds;
  answer.candidate = candidate(request, placed, best.kinds, best.layers);
  return answer;
}

// All partitions in all orders, where they are few. False: they are not.
bool SettingSearch::try_all(PartitionAnswer& best, const SettingRequest& request, const Placed& placed) {
  const Plan& plan = request.setting.plan;
  const std::int64_t few = question_.space.few_partitions;
  const std::int64_t partitions =
      partitions_up_to(question_.config.layers, plan.pp * plan.virtual_stages, few);
  const auto orders =
      all_orders(placed.makes, request.nodes, static_cast<std::size_t>((few - 1) / partitions));
  PlanSetting plain = request.setting;
  plain.plan.schedule = ScheduleKind::k1F1B;
  plain.plan.virtual_stages = 1;
  for (const std::vector<std::int32_t>& order : orders) {
    ChunksProblem problem;
    problem.kinds = order;
    problem.plain = estimator_.tables(candidate_of(plain, runs_of(placed.makes, order)));
    tables_ = nullptr;
    problem.tables = tables_of(request, placed.makes, order);
    minimise_time(problem, request, placed);
    take(best, problem.solve({.better_than = std::min(request.effort.better_than, best.nanoseconds)}));
  }
  return !orders.empty();
}

void SettingSearch::search_orders(PartitionAnswer& best, const SettingRequest& request,
                                  const Placed& placed) {
  // Paths prove more than the search in depth does where there are few orders.
  SpreadProblem problem;
  PartitionEffort effort = request.effort;
  if (placed.given.empty() && request.setting.plan.virtual_stages > 1)
    for (std::vector<std::int32_t>& order : all_orders(placed.makes, request.nodes, kMostSpreadOrders)) {
      problem.orders.emplace_back().kinds = std::move(order);
      effort.work = 0;
    }
  take(best, placed.problem.solve(effort));
  effort = request.effort;
  effort.better_than = std::min(effort.better_than, best.nanoseconds);
  if (problem.orders.empty() || effort.work == 0 || best.lower_bound >= effort.better_than) return;
  const auto row = static_cast<std::size_t>(placed.problem.layers + 1);
  for (SpreadOrder& order : problem.orders) {
    order.tables = tables_of(request, placed.makes, order.kinds);
    for (std::size_t s = 0; s < order.kinds.size(); ++s) {
      const std::size_t place = placed.problem.place(static_cast<std::int64_t>(s), order.kinds[s]);
      order.most_layers.push_back(placed.problem.most_layers[place]);
      order.after.push_back(std::span(placed.problem.costs).subspan(place * row, row));
    }
  }
  minimise_time(problem, request, placed);
  PartitionAnswer found = problem.solve(effort);
  found.lower_bound = best.lower_bound = std::max(best.lower_bound, found.lower_bound);
  take(best, std::move(found));
}

void SettingSearch::improve(PartitionAnswer& best, const SettingRequest& request, const Placed& placed) {
  if (!best.found()) return;
  best.layers = placed.over_chunks(request.setting.plan, best.layers);
  const std::int64_t tries = std::max<std::int64_t>(2 * std::ssize(best.layers), request.effort.work / 4096);
  PartitionAnswer moved = improve_chunks(placed.problem, best, tries);
  moved.work = moved.evaluated * evaluation_work(placed.problem.shape);
  take(best, std::move(moved));
}

// Each order as a problem with one kind per stage: a small part of the states.
void SettingSearch::search_few_orders(PartitionAnswer& best, const SettingRequest& request, Placed& placed) {
  const StagesProblem& all = placed.problem;
  const auto row = static_cast<std::size_t>(all.layers + 1);
  std::size_t looked_at = 0;
  for (const std::vector<std::int32_t>& order : placed.orders) {
    // Other orders are worth a look where the first ones come near.
    if (++looked_at > kFirstOrders) {
      if (!best.found()) break;
      fill(placed, request, order);
    }
    const PlanTables& tables = tables_of(request, placed.makes, order);
    StagesProblem problem;
    problem.shape = all.shape;
    problem.layers = all.layers;
    problem.kinds = {{}};
    problem.given_layers = all.given_layers;
    problem.after_tails = all.after_tails;
    for (std::size_t s = 0; s < order.size(); ++s) {
      const std::size_t place = all.place(static_cast<std::int64_t>(s), order[s]);
      const auto from = all.costs.begin() + static_cast<std::ptrdiff_t>(place * row);
      problem.costs.insert(problem.costs.end(), from, from + static_cast<std::ptrdiff_t>(row));
      problem.most_layers.push_back(all.most_layers[place]);
      if (s + 1 < order.size())
        problem.given_sends.push_back(
            {.activations = tables.activations[s].count(), .gradients = tables.gradients[s].count()});
    }
    problem.exact = [&](std::span<const std::int32_t>, std::span<const std::int64_t> layers) {
      return time_of(request, placed, order, layers);
    };
    PartitionEffort effort = request.effort;
    if (looked_at <= kFirstOrders && effort.better_than < kNeverEnds)
      effort.better_than += effort.better_than / kNear;
    effort.better_than = std::min(effort.better_than, best.nanoseconds);
    PartitionAnswer found = problem.solve(effort);
    if (found.found()) found.kinds = order;
    take(best, std::move(found));
  }
}

std::vector<Bytes> SettingSearch::memory_sizes(const SettingRequest& request) {
  const Placed placed = place(request);
  std::vector<Bytes> sizes;
  for (const std::span<const Bytes> memory : placed.memory)
    sizes.insert(sizes.end(), memory.begin(), memory.end());
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

std::optional<Bytes> SettingSearch::least_memory(const SettingRequest& of_any) {
  SettingRequest request = of_any;
  // Several virtual stages hold more than one does.
  if (request.setting.plan.virtual_stages > 1) {
    request.setting.plan.schedule = ScheduleKind::k1F1B;
    request.setting.plan.virtual_stages = 1;
  }
  Placed placed = place(request);
  if (placed.orders.empty() || !placed.room.holds(question_.config.layers)) return std::nullopt;
  StagesProblem& problem = placed.problem;
  const std::vector<std::int64_t> room = problem.most_layers;
  std::vector<Bytes> sizes;
  for (const std::span<const Bytes> memory : placed.memory)
    sizes.insert(sizes.end(), memory.begin(), memory.end());
  std::ranges::sort(sizes);
  problem.exact = [](std::span<const std::int32_t>, std::span<const std::int64_t>) {
    return std::int64_t{0};
  };
  const auto suffices = [&](Bytes size) {
    for (std::size_t i = 0; i < room.size(); ++i) {
      std::int64_t most = -1;
      for (std::int64_t l = 0; l <= std::min<std::int64_t>(room[i], std::ssize(placed.memory[i]) - 1); ++l)
        if (placed.memory[i][static_cast<std::size_t>(l)] <= size) most = l;
      problem.most_layers[i] = most;
    }
    return problem.solve({.work = 0, .labels = 1}).found();
  };
  const auto least = std::ranges::partition_point(sizes, [&](Bytes size) { return !suffices(size); });
  if (least == sizes.end()) return std::nullopt;
  return *least;
}

std::optional<PlanCandidate> SettingSearch::smallest(const SettingRequest& request) {
  const Placed placed = place(request);
  if (placed.orders.empty()) return std::nullopt;
  const Plan& plan = request.setting.plan;
  std::vector<std::int64_t> best = given_partition(question_, plan);
  if (best.empty()) best = resolved_partition(question_.config, plan);
  const std::vector<NodeRun> runs = runs_of(placed.makes, placed.orders.front());
  const PlanTables& tables = tables_of(request, placed.makes, placed.orders.front());
  if (plan.virtual_stages > 1 || !given_partition(question_, plan).empty())
    return candidate_of(request.setting, runs, best);
  // One layer after the other goes where it leaves the least beyond the memory.
  std::ranges::fill(best, 0);
  const auto missing = [&](std::size_t stage) {
    const StageTable& table = tables.stages[stage];
    return table.memory[static_cast<std::size_t>(best[stage] + 1)].count() - table.capacity.count();
  };
  for (std::int64_t layer = 0; layer < question_.config.layers; ++layer) {
    std::size_t least = 0;
    for (std::size_t s = 1; s < best.size(); ++s)
      if (missing(s) < missing(least)) least = s;
    ++best[least];
  }
  return candidate_of(request.setting, runs, best);
}

}  // namespace nadi::inline predict
