#include "nadi/parallel/plan_cost.h"

#include <algorithm>
#include <utility>

#include "nadi/base/error.h"
#include "nadi/base/format.h"

namespace nadi::inline describe {
namespace {

// Adds the costs of `chunks` chunks of a kind that have `more` inner units, all together, than were built.
struct Repeats {
  std::int64_t chunks = 0;
  std::int64_t more = 0;
};

void add_chunks(StepWork& sum, const ChunkWork& cost, const Repeats& repeats, std::int64_t times) {
  for (const WorkEntry& entry : cost.work) add(sum.work, entry, repeats.chunks * times);
  if (repeats.more != 0)
    for (const WorkEntry& entry : cost.inner_work) add(sum.work, entry, repeats.more * times);
  const auto join = [&](auto& to, const auto& list, const std::vector<std::int64_t>& inner) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      to.push_back(list[i]);
      to.back().count = (list[i].count * repeats.chunks + inner[i] * repeats.more) * times;
    }
  };
  join(sum.products, cost.products, cost.inner_products);
  join(sum.messages, cost.messages, cost.inner_messages);
}

// Those that a rank shares between its graphs have one place.
class SharedNames {
 public:
  SharedNames() { seen_.reserve(32); }

  void add(const std::vector<ChunkCost::Shared>& tensors, std::array<Bytes, kRoleCount>& resident) {
    for (const ChunkCost::Shared& tensor : tensors) {
      if (std::ranges::any_of(seen_, [&](const ChunkCost::Shared* s) { return s->name == tensor.name; }))
        continue;
      seen_.push_back(&tensor);
      resident[static_cast<std::size_t>(tensor.role)] += tensor.size;
    }
  }

 private:
  std::vector<const ChunkCost::Shared*> seen_;
};

}  // namespace

Bytes StageMemory::total() const {
  Bytes sum = activations;
  for (const Bytes size : resident) sum += size;
  return sum;
}

PlanCosts::PlanCosts(const ModelConfig& config) : config_(config) {
  if (has_mixed_layers(config))
    throw input_error(
        {.file = config.name},
        format("{} of {} layers have experts: plans are searched for models whose layers are alike",
               sparse_layers(config), config.layers));
}
PlanCosts::~PlanCosts() = default;

ChunkFamily& PlanCosts::family(const ChunkKey& key) {
  std::unique_ptr<ChunkFamily>& known = families_[of_family(key)];
  if (known == nullptr) known = std::make_unique<ChunkFamily>(config_, key);
  return *known;
}

PlanCosts::UsedChunk PlanCosts::chunk(const StepRequest& request, const Plan& plan, const ChunkPlace& place,
                                      bool pipelined) {
  ChunkKey key = chunk_key(request, plan, place);
  UsedChunk used{.family = &family(key), .layers = place.layers};
  used.cost = used.family->cost(key.micro_batch_size);
  std::optional<ArenaNeed> arena;
  const auto of_arena = [&] {
    return used.family->arena(
        {.micro_batch_size = key.micro_batch_size, .layers = place.layers, .pipelined = pipelined});
  };
  if (used.cost != nullptr) arena = of_arena();
  if (!arena) {
    key.layers = place.layers;
    used.family = &family(key);
    used.cost = used.family->cost(key.micro_batch_size);
    arena = of_arena();
  }
  used.arena = *arena;
  return used;
}

const ReductionCosts& PlanCosts::reduction(const ReductionKey& key) {
  for (const std::unique_ptr<ReductionCosts>& known : reductions_)
    if (known->key() == key) return *known;
  return *reductions_.emplace_back(std::make_unique<ReductionCosts>(key));
}

const ReductionCosts& PlanCosts::reduction(const StepRequest& request, const Plan& plan, std::int64_t stage) {
  const std::int64_t data_ranks = group_size(plan, GroupKind::kData);
  return reduction({.reduces = data_ranks > 1,
                    .splits_model = group_size(plan, GroupKind::kModel) > 1,
                    .zero = plan.zero_stage >= 1 && data_ranks > 1,
                    .partial = plan.sequence_parallel,
                    .last_stage = stage == plan.pp - 1,
                    .dtype = request.dtype,
                    .optimizer = request.optimizer});
}

PipelineMemory& PlanCosts::pipeline(const PipelineRequest& request) {
  const PipelineRequest enough = with_enough_micro_batches(request);
  std::unique_ptr<PipelineMemory>& known = pipelines_[{static_cast<std::int64_t>(enough.kind), enough.stages,
                                                       enough.virtual_stages, enough.micro_batches}];
  if (known == nullptr) known = std::make_unique<PipelineMemory>(enough);
  return *known;
}

StageCost PlanCosts::stage_cost(const StepRequest& request, const Plan& plan, std::int64_t stage,
                                const std::vector<std::int64_t>& partition) {
  PipelineMemory& schedule = schedule_of(plan);
  StageCost cost;
  StageMemory& memory = cost.memory;
  memory.slots = 0;
  for (std::int64_t v = 0; v < plan.virtual_stages; ++v) memory.slots += schedule.slots(stage, v);

  SharedNames shared;
  std::vector<ReductionCosts::Chunk> reduced;
  reduced.reserve(static_cast<std::size_t>(plan.virtual_stages));
  struct Kind {
    const ChunkCost* cost = nullptr;
    const ChunkWork* work = nullptr;
    Repeats repeats = {};
  };
  std::vector<Kind> kinds;  // chunks of one kind together
  Bytes arena, peak;
  for (std::int64_t v = 0; v < plan.virtual_stages; ++v) {
    const std::int64_t number = v * plan.pp + stage;
    const UsedChunk used = chunk(request, plan,
                                 {.first = number == 0,
                                  .last = number + 1 == plan.pp * plan.virtual_stages,
                                  .layers = partition[static_cast<std::size_t>(number)]},
                                 memory.slots > 1);
    const ChunkCost& of = *used.cost;
    const std::int64_t more = of.more_units(used.layers);
    auto kind = std::ranges::find(kinds, used.cost, &Kind::cost);
    if (kind == kinds.end()) {
      const MicroBatchForm form{.size = request.batch_size / plan.micro_batches,
                                .accumulates = plan.micro_batches > 1 || request.keeps_gradients};
      kind = kinds.insert(kinds.end(), {.cost = used.cost, .work = &used.family->work(form)});
      shared.add(of.shared, memory.resident);
    }
    ++kind->repeats.chunks;
    kind->repeats.more += more;
    reduced.push_back({used.cost, more});
    cost.parameters += of.sizes.parameters + more * of.inner_sizes.parameters;
    for (std::size_t role = 0; role < memory.resident.size(); ++role)
      memory.resident[role] += of.sizes.resident[role] + of.inner_sizes.resident[role] * more;
    memory.kept += of.sizes.kept + of.inner_sizes.kept * more;
    memory.kept_per_block = std::max(memory.kept_per_block, of.kept_per_block);
    if (memory.slots > 1)
      memory.in_slots += (of.sizes.slot + of.inner_sizes.slot * more) * schedule.slots(stage, v);
    for (const ChunkCost::Ring& ring : of.rings)
      memory.in_rings +=
          ring.stride *
          schedule.places(stage, {.chunk = v, .gradient = ring.gradient, .touched = ring.touched});
    arena = std::max(arena, used.arena.arena);
    peak = std::max(peak, used.arena.peak);
  }
  std::size_t products = 0, messages = 0;
  for (const Kind& kind : kinds) {
    products += kind.work->products.size();
    messages += kind.work->messages.size();
  }
  constexpr std::size_t kOfReduction = 16;  // about
  cost.work.work.reserve(kOfReduction);
  cost.work.products.reserve(products);
  cost.work.messages.reserve(messages + kOfReduction);
  for (const Kind& kind : kinds) add_chunks(cost.work, *kind.work, kind.repeats, plan.micro_batches);

  const std::int64_t data_ranks = group_size(plan, GroupKind::kData);
  const ReductionCosts& costs = reduction(request, plan, stage);
  shared.add(costs.shared(), memory.resident);
  const ReductionCost after =
      costs.of(reduced, {.data_ranks = data_ranks,
                         .rules = request.layout,
                         .first_stage = stage == 0,
                         .clears = plan.micro_batches > 1 || request.keeps_gradients});
  for (const WorkEntry& entry : after.work.work) add(cost.work.work, entry);
  cost.work.messages.insert(cost.work.messages.end(), after.work.messages.begin(), after.work.messages.end());
  for (std::size_t role = 0; role < memory.resident.size(); ++role)
    memory.resident[role] += after.memory.resident[role];
  memory.arena = std::max(arena, after.memory.arena.arena);
  memory.activations = memory.arena + memory.in_slots + memory.in_rings;
  memory.activations_live = std::max(peak, after.memory.arena.peak) + memory.in_slots + memory.in_rings;
  return cost;
}

StageMemoryParts PlanCosts::memory_parts(const StepRequest& request, const Plan& plan, std::int64_t stage,
                                         std::int64_t layers, bool several) {
  const ChunkPlace place{.first = stage == 0, .last = stage + 1 == plan.pp, .layers = layers};
  const UsedChunk used = chunk(request, plan, place, several);
  const ChunkCost& of = *used.cost;
  const std::int64_t more = of.more_units(layers);
  StageMemoryParts parts{.rings = of.rings};
  if (several) parts.slot = of.sizes.slot + of.inner_sizes.slot * more;
  std::array<Bytes, kRoleCount> resident{};
  SharedNames shared;
  shared.add(of.shared, resident);
  const ReductionCosts& costs = reduction(request, plan, stage);
  shared.add(costs.shared(), resident);
  const std::array reduced{ReductionCosts::Chunk{used.cost, more}};
  const ReductionMemory after = costs.memory(
      reduced,
      {.data_ranks = group_size(plan, GroupKind::kData), .rules = request.layout, .first_stage = stage == 0});
  for (std::size_t role = 0; role < resident.size(); ++role)
    parts.resident += resident[role] + of.sizes.resident[role] + of.inner_sizes.resident[role] * more +
                      after.resident[role];
  parts.arena = std::max(used.arena.arena, after.arena.arena);
  return parts;
}

Bytes PlanCosts::memory_of(const StepRequest& request, const Plan& plan, std::int64_t stage,
                           const std::vector<std::int64_t>& partition) {
  return stage_cost(request, plan, stage, partition).memory.total();
}

PlanCost PlanCosts::of(const StepRequest& request, const Plan& plan) {
  check(request.kind == StepKind::kTrain, "plans are costed for training");
  const std::vector<std::int64_t> partition = resolved_partition(config_, plan);
  PlanCost cost;
  cost.stages.reserve(static_cast<std::size_t>(plan.pp));
  for (std::int64_t stage = 0; stage < plan.pp; ++stage)
    cost.stages.push_back(stage_cost(request, plan, stage, partition));
  return cost;
}

}  // namespace nadi::inline describe
