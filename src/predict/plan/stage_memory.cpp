#include "nadi/plan/stage_memory.h"

#include <algorithm>

#include "nadi/base/error.h"

namespace nadi::inline predict {

StageMemoryTable::StageMemoryTable(const ModelConfig& config) : config_(config), costs_(config) {}

StageMemoryTable::Kind& StageMemoryTable::kind_of(const StepRequest& request, const Plan& plan,
                                                  std::int64_t stage, bool several) {
  ChunkKey key = chunk_key(request, plan, {.first = stage == 0, .last = stage + 1 == plan.pp, .layers = 0});
  key.layers = ChunkKey::kRepeated;
  key.method = request.recompute.method;
  key.recomputed_layers = request.recompute.layers;
  key.accumulates = true;  // memory does not depend on it
  const std::int64_t data_ranks = group_size(plan, GroupKind::kData);
  // Without ZeRO their number is of no account, only whether there are several; but Megatron-LM's buckets grow with it.
  const bool counts = plan.zero_stage >= 1 || request.layout.rule == BucketRule::kMegatron;
  const std::int64_t split = counts ? data_ranks : data_ranks > 1 ? -1 : 1;
  const bool splits_model = group_size(plan, GroupKind::kModel) > 1;
  std::vector<std::unique_ptr<Kind>>& alike = kinds_[key];
  for (const std::unique_ptr<Kind>& kind : alike)
    if (kind->data_ranks == split && kind->splits_model == splits_model && kind->several == several)
      return *kind;
  auto kind = std::make_unique<Kind>(
      Kind{.key = key, .data_ranks = split, .splits_model = splits_model, .several = several});
  kind->parts.resize(static_cast<std::size_t>(config_.layers) + 1);
  return *alike.emplace_back(std::move(kind));
}

const StageMemoryParts& StageMemoryTable::parts_of(Kind& kind, const StepRequest& request, const Plan& plan,
                                                   std::int64_t stage, std::int64_t layers) {
  std::optional<StageMemoryParts>& parts = kind.parts[static_cast<std::size_t>(layers)];
  if (!parts) parts = costs_.memory_parts(request, plan, stage, layers, kind.several);
  return *parts;
}

void StageMemoryTable::complete(Kind& kind, const StepRequest& request, const Plan& plan,
                                std::int64_t stage) {
  for (std::int64_t layers = 0; layers <= config_.layers; ++layers)
    for (const ChunkCost::Ring& ring : parts_of(kind, request, plan, stage, layers).rings) {
      const auto same = [&](const ChunkCost::Ring& known) {
        return known.gradient == ring.gradient && known.touched == ring.touched;
      };
      if (std::ranges::none_of(kind.rings, same)) kind.rings.push_back(ring);
    }
  kind.complete = true;
}

Bytes StageMemoryTable::sum_of(const StageMemoryParts& parts, PipelineMemory& schedule, std::int64_t stage) {
  Bytes sum = parts.resident + parts.arena + parts.slot * schedule.slots(stage, 0);
  for (const ChunkCost::Ring& ring : parts.rings)
    sum += ring.stride * schedule.places(stage, {.gradient = ring.gradient, .touched = ring.touched});
  return sum;
}

Bytes StageMemoryTable::of(const StepRequest& request, const Plan& plan, std::int64_t stage,
                           std::int64_t layers) {
  PipelineMemory& schedule = costs_.schedule_of(plan);
  Kind& kind = kind_of(request, plan, stage, schedule.slots(stage, 0) > 1);
  return sum_of(parts_of(kind, request, plan, stage, layers), schedule, stage);
}

std::span<const Bytes> StageMemoryTable::of(const StepRequest& request, const Plan& plan,
                                            std::int64_t stage) {
  check(plan.virtual_stages == 1, "memory by layers is of plans with one virtual stage");
  PipelineMemory& schedule = costs_.schedule_of(plan);
  Kind& kind = kind_of(request, plan, stage, schedule.slots(stage, 0) > 1);
  if (!kind.complete) complete(kind, request, plan, stage);
  held_ = {schedule.slots(stage, 0)};
  for (const ChunkCost::Ring& ring : kind.rings)
    held_.push_back(schedule.places(stage, {.gradient = ring.gradient, .touched = ring.touched}));
  const auto known = kind.known.find(held_);
  if (known != kind.known.end()) return known->second;
  std::vector<Bytes>& memory = kind.known[held_];
  for (const std::optional<StageMemoryParts>& parts : kind.parts)
    memory.push_back(sum_of(*parts, schedule, stage));
  return memory;
}

std::vector<Bytes> StageMemoryTable::of_plan(const StepRequest& request, const Plan& plan) {
  std::vector<Bytes> memory;
  for (const StageCost& stage : costs_.of(request, plan).stages) memory.push_back(stage.memory.total());
  return memory;
}

}  // namespace nadi::inline predict
