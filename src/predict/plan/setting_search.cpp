#include "nadi/plan/setting_search.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/parallel/step_program.h"
#include "nadi/plan/interleaved_search.h"
#include "nadi/plan/plan_tables.h"
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
  PartitionProblem problem = {};
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

  std::vector<std::int64_t> over_chunks(const Plan& plan, std::span<const std::int64_t> layers) const {
    return given.empty() ? spread_over_chunks(layers, plan.virtual_stages) : given;
  }
};

SettingSearch::SettingSearch(const PlanQuestion& question, PlanEstimator& estimator)
    : question_(question), estimator_(estimator) {}

const PlanTables& SettingSearch::tables_of(const SettingRequest& request, const StageMakes& makes,
                                           std::span<const std::int32_t> order) {
  return estimator_.tables(candidate_of(request.setting, runs_of(makes, order)));
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

PipelineShape pipeline_shape(const Plan& plan) {
  return {.schedule = plan.schedule,
          .stages = plan.pp,
          .micro_batches = plan.micro_batches,
          .virtual_stages = plan.virtual_stages};
}

std::int64_t room_for(const StageTable& stage, const std::optional<Bytes>& memory) {
  Bytes limit = stage.capacity;
  if (memory && (limit.count() == 0 || *memory < limit)) limit = *memory;
  if (limit.count() == 0) return std::ssize(stage.memory) - 1;
  std::int64_t most = -1;
  for (std::int64_t l = 0; l < std::ssize(stage.memory); ++l)
    if (stage.memory[static_cast<std::size_t>(l)] <= limit) most = l;
  return most;
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
  PartitionProblem& problem = placed.problem;
  const bool interleaved = request.setting.plan.virtual_stages > 1;
  const PlanTables& tables = tables_of(request, placed.makes, order);
  const auto row = static_cast<std::size_t>(problem.layers + 1), makes = problem.kinds.size();
  std::int64_t place = 0;
  for (std::size_t s = 0; s < order.size(); ++s) {
    const auto make = static_cast<std::size_t>(order[s]);
    PartitionStageKind& kind = problem.kinds[make];
    if (!placed.filled[s * makes + make]) {
      placed.filled[s * makes + make] = true;
      if (interleaved) {
        fill_chunks(placed, tables, s, make);
      } else {
        for (std::size_t l = 0; l < row; ++l)
          problem.costs[(s * makes + make) * row + l] = costs_of(tables, s, l);
        problem.most_layers[s * makes + make] = room_for(tables.stages[s], request.memory);
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
  PartitionProblem& problem = placed.problem;
  const std::size_t place = stage * problem.kinds.size() + make;
  const std::int64_t most = placed.room.most_layers[place];
  problem.most_layers[place] = most;
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
  PartitionProblem& problem = placed.problem;
  const std::size_t stage_costs = problem.kinds.size() * static_cast<std::size_t>(problem.layers + 1);
  const auto add = [&](PartitionCosts& costs) {
    costs.tail = std::max(costs.tail, placed.embedding) + placed.tied;
  };
  std::for_each_n(problem.costs.begin(), stage_costs, add);
  std::for_each_n(problem.costs.rbegin(), stage_costs, add);
}

SettingSearch::Placed SettingSearch::place(const SettingRequest& request) {
  const Plan& plan = request.setting.plan;
  Placed placed{
      .makes = stage_makes(question_.cluster, request.nodes,
                           {.ranks = request.setting.ranks_per_stage(),
                            .tp = plan.tp,
                            .stages = plan.pp,
                            .all_devices = !question_.space.unused_devices}),
  };
  if (placed.makes.makes.empty()) return placed;
  if (request.few_orders && plan.virtual_stages == 1) placed.orders = few_orders(placed.makes, request.nodes);
  if (placed.orders.empty())
    placed.orders = covering_orders(placed.makes, request.nodes, request.effort.stop);
  placed.given = given_partition(question_, plan);
  placed.room = stage_room(
      question_, estimator_,
      {.setting = request.setting, .makes = placed.makes, .memory = request.memory, .given = placed.given});
  if (!placed.room.holds(question_.config.layers)) return placed;
  PartitionProblem& problem = placed.problem;
  problem.shape = pipeline_shape(plan);
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

std::int64_t SettingSearch::exact_of(const SettingRequest& request, const Placed& placed,
                                     const PlanTables& tables, std::span<const std::int64_t> layers) {
  if (tables.plan.virtual_stages == 1) {
    for (std::size_t s = 0; s < layers.size(); ++s)
      if (room_for(tables.stages[s], request.memory) < layers[s]) return kNeverEnds;
    return estimator_.iteration(tables, layers).count();
  }
  const std::vector<std::int64_t> chunks = placed.over_chunks(tables.plan, layers);
  return exact_of_chunks(request, tables, chunks);
}

std::int64_t SettingSearch::exact_of_chunks(const SettingRequest& request, const PlanTables& tables,
                                            std::span<const std::int64_t> chunks) {
  if (estimator_.missing_memory(tables, chunks).count() > 0) return kNeverEnds;
  if (request.memory && estimator_.most_memory(tables, chunks) > *request.memory) return kNeverEnds;
  return estimator_.iteration(tables, chunks).count();
}

SettingAnswer SettingSearch::run(const SettingRequest& request) {
  SettingAnswer answer;
  Placed placed = place(request);
  if (placed.orders.empty()) return answer;
  answer.placed = true;
  const Plan& plan = request.setting.plan;
  const std::int64_t layers = question_.config.layers;
  if (!placed.room.holds(layers)) return answer;
  if (plan.virtual_stages > 1 && placed.given.empty() && request.effort.bounds > 0) {
    const std::int64_t few = question_.space.few_partitions;
    const std::int64_t partitions = partitions_up_to(layers, plan.pp * plan.virtual_stages, few);
    const auto orders =
        all_orders(placed.makes, request.nodes, static_cast<std::size_t>((few - 1) / partitions));
    if (!orders.empty()) return run_all_partitions(request, placed, orders);
  }
  if (request.few_orders && placed.makes.makes.size() > 1) return run_few_orders(request, placed);

  std::vector<std::int32_t> order;  // of the tables at hand
  const PlanTables* tables = nullptr;
  placed.problem.exact = [&](std::span<const std::int32_t> kinds, std::span<const std::int64_t> of_stages) {
    if (tables == nullptr || !std::ranges::equal(order, kinds)) {
      order.assign(kinds.begin(), kinds.end());
      tables = &tables_of(request, placed.makes, kinds);
    }
    const std::int64_t time = exact_of(request, placed, *tables, of_stages);
    if (request.every)
      request.every(
          candidate_of(request.setting, runs_of(placed.makes, kinds), placed.over_chunks(plan, of_stages)));
    return time;
  };
  // Paths prove more than the search in depth does where there are few orders.
  const auto orders = placed.given.empty() && plan.virtual_stages > 1
                          ? all_orders(placed.makes, request.nodes, kMostSpreadOrders)
                          : std::vector<std::vector<std::int32_t>>{};
  PartitionEffort effort = request.effort;
  if (!orders.empty()) effort.bounds = 0;
  const PartitionAnswer found = search_partition(placed.problem, effort);
  answer.evaluated = found.evaluated;
  answer.work = found.work;
  answer.lower_bound = found.lower_bound;
  answer.has_room = found.lower_bound < kNeverEnds;
  if (found.found()) {
    answer.nanoseconds = found.nanoseconds;
    answer.candidate = candidate_of(request.setting, runs_of(placed.makes, found.kinds),
                                    placed.over_chunks(plan, found.layers));
  }
  if (placed.given.empty()) {
    if (!orders.empty()) prove_spread(answer, request, placed, orders);
    improve(answer, request);
  }
  return answer;
}

void SettingSearch::prove_spread(SettingAnswer& answer, const SettingRequest& request, const Placed& placed,
                                 std::span<const std::vector<std::int32_t>> orders) {
  const Plan& plan = request.setting.plan;
  const std::int64_t better_than = std::min(request.effort.better_than, answer.nanoseconds);
  if (request.effort.bounds == 0 || answer.lower_bound >= better_than) return;
  SpreadProblem problem;
  for (const std::vector<std::int32_t>& order : orders) {
    SpreadOrder& one = problem.orders.emplace_back();
    one.tables = tables_of(request, placed.makes, order);
    for (std::size_t s = 0; s < order.size(); ++s) {
      const std::size_t place = placed.problem.place(static_cast<std::int64_t>(s), order[s]);
      const auto row = static_cast<std::size_t>(placed.problem.layers + 1);
      one.most_layers.push_back(placed.problem.most_layers[place]);
      one.after.push_back(std::span(placed.problem.costs).subspan(place * row, row));
    }
  }
  problem.exact = [&](std::size_t order, std::span<const std::int64_t> layers) {
    if (request.every)
      request.every(candidate_of(request.setting, runs_of(placed.makes, orders[order]),
                                 placed.over_chunks(plan, layers)));
    return exact_of(request, placed, problem.orders[order].tables, layers);
  };
  const SpreadAnswer found = search_spread(
      problem, {.better_than = better_than, .work = request.effort.bounds, .stop = request.effort.stop});
  answer.evaluated += found.evaluated;
  answer.work += found.work;
  answer.lower_bound = std::max(answer.lower_bound, found.lower_bound);
  if (!found.found()) return;
  answer.nanoseconds = found.nanoseconds;
  answer.candidate = candidate_of(request.setting, runs_of(placed.makes, orders[found.order]),
                                  placed.over_chunks(plan, found.layers));
}

void SettingSearch::improve(SettingAnswer& answer, const SettingRequest& request) {
  if (!answer.candidate || request.setting.plan.virtual_stages == 1 || request.effort.bounds == 0) return;
  PlanCandidate& candidate = *answer.candidate;
  InterleavedProblem problem{.plain = {}, .tables = estimator_.tables(candidate)};
  problem.exact = [&](std::span<const std::int64_t> layers) {
    if (request.every)
      request.every(candidate_of(request.setting, candidate.nodes,
                                 std::vector<std::int64_t>(layers.begin(), layers.end())));
    return exact_of_chunks(request, problem.tables, layers);
  };
  const std::int64_t tries =
      std::max<std::int64_t>(2 * std::ssize(candidate.plan.partition), request.effort.bounds / 4096);
  const MovedLayers moved = improve_interleaved(
      problem, {.layers = candidate.plan.partition, .nanoseconds = answer.nanoseconds}, tries);
  answer.evaluated += moved.evaluated;
  answer.work += moved.evaluated * evaluation_work(pipeline_shape(request.setting.plan));
  answer.nanoseconds = moved.nanoseconds;
  candidate.plan.partition = moved.layers;
}

// Each order as a problem with one kind per stage: a small part of the states.
SettingAnswer SettingSearch::run_few_orders(const SettingRequest& request, Placed& placed) {
  SettingAnswer answer{.all_orders = false, .placed = true};
  const PartitionProblem& all = placed.problem;
  const auto row = static_cast<std::size_t>(all.layers + 1);
  std::size_t looked_at = 0;
  for (const std::vector<std::int32_t>& of_placed : placed.orders) {
    const std::vector<std::int32_t>* order = &of_placed;
    // Other orders are worth a look where the first ones come near.
    if (++looked_at > kFirstOrders) {
      if (!answer.candidate) break;
      fill(placed, request, *order);
    }
    const PlanTables& tables = tables_of(request, placed.makes, *order);
    PartitionProblem problem{.shape = all.shape,
                             .layers = all.layers,
                             .kinds = {{}},
                             .given_layers = all.given_layers,
                             .after_tails = all.after_tails};
    for (std::size_t s = 0; s < order->size(); ++s) {
      const std::size_t place = all.place(static_cast<std::int64_t>(s), (*order)[s]);
      const auto from = all.costs.begin() + static_cast<std::ptrdiff_t>(place * row);
      problem.costs.insert(problem.costs.end(), from, from + static_cast<std::ptrdiff_t>(row));
      problem.most_layers.push_back(all.most_layers[place]);
      if (s + 1 < order->size())
        problem.given_sends.push_back(
            {.activations = tables.activations[s].count(), .gradients = tables.gradients[s].count()});
    }
    const std::vector<NodeRun> runs = runs_of(placed.makes, *order);
    problem.exact = [&](std::span<const std::int32_t>, std::span<const std::int64_t> layers) {
      const std::int64_t time = exact_of(request, placed, tables, layers);
      if (request.every)
        request.every(candidate_of(request.setting, runs, placed.over_chunks(tables.plan, layers)));
      return time;
    };
    PartitionEffort effort = request.effort;
    if (looked_at <= kFirstOrders && effort.better_than < kNeverEnds)
      effort.better_than += effort.better_than / kNear;
    effort.better_than = std::min(effort.better_than, answer.nanoseconds);
    const PartitionAnswer found = search_partition(problem, effort);
    answer.evaluated += found.evaluated;
    answer.work += found.work;
    answer.lower_bound = std::min(answer.lower_bound, found.lower_bound);
    answer.has_room = answer.has_room || found.lower_bound < kNeverEnds;
    if (!found.found()) continue;
    answer.nanoseconds = found.nanoseconds;
    answer.candidate = candidate_of(request.setting, runs, placed.over_chunks(tables.plan, found.layers));
  }
  if (placed.given.empty()) improve(answer, request);
  // What only came near made other orders worth a look; it is no answer: it may miss a limit.
  if (answer.nanoseconds >= request.effort.better_than) {
    answer.candidate.reset();
    answer.nanoseconds = kNeverEnds;
  }
  return answer;
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

SettingAnswer SettingSearch::run_all_partitions(const SettingRequest& request, const Placed& placed,
                                                std::span<const std::vector<std::int32_t>> orders) {
  SettingAnswer answer{.placed = true};
  for (const std::vector<std::int32_t>& order : orders) {
    const std::vector<NodeRun> runs = runs_of(placed.makes, order);
    PlanSetting plain = request.setting;
    plain.plan.schedule = ScheduleKind::k1F1B;
    plain.plan.virtual_stages = 1;
    InterleavedProblem problem{.plain = estimator_.tables(candidate_of(plain, runs)),
                               .tables = estimator_.tables(candidate_of(request.setting, runs))};
    problem.exact = [&](std::span<const std::int64_t> layers) {
      const std::int64_t time = exact_of_chunks(request, problem.tables, layers);
      if (request.every)
        request.every(
            candidate_of(request.setting, runs, std::vector<std::int64_t>(layers.begin(), layers.end())));
      return time;
    };
    const PartitionAnswer found =
        search_interleaved(problem, std::min(request.effort.better_than, answer.nanoseconds));
    answer.evaluated += found.evaluated;
    answer.work += found.evaluated * evaluation_work(pipeline_shape(request.setting.plan));
    answer.lower_bound = std::min(answer.lower_bound, found.lower_bound);
    answer.has_room = answer.has_room || found.lower_bound < kNeverEnds;
    if (!found.found()) continue;
    answer.nanoseconds = found.nanoseconds;
    answer.candidate = candidate_of(request.setting, runs, found.layers);
  }
  return answer;
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
  PartitionProblem& problem = placed.problem;
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
    return search_partition(problem, {.bounds = 0, .labels = 1}).found();
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
  const PlanTables& tables = estimator_.tables(candidate_of(request.setting, runs));
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
