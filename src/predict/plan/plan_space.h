// The plans that a question allows, as far as they do not depend on where stages are placed: degrees,
// micro-batch, recomputation, ZeRO, sequence parallelism, schedule and virtual stages.
//
//   for (const PlanSetting& grid : plan_grids(question, devices))
//     for (const PlanSetting& setting : settings_of(question, grid)) ...
//
// Every setting fits the model: why_infeasible() has nothing against it. Settings that are the same thing by
// another name are left out: GPipe without a pipeline or with one micro-batch, ZeRO without data parallelism,
// selective recomputation where attention is fused and keeps nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nadi/graph/gradient.h"
#include "nadi/parallel/plan.h"
#include "nadi/plan/placement_orders.h"
#include "nadi/plan/plan_candidate.h"
#include "nadi/plan/plan_question.h"

namespace nadi::inline predict {

struct PlanSetting {
  Plan plan = {};  // without partition
  std::int64_t micro_batch_size = 1;
  Recompute recompute = {};

  std::int64_t ranks_per_stage() const { return plan.tp * plan.cp * plan.dp; }
};

// Settings by degrees and micro-batch size, with all else as it is by default, though it need not fit like
// that: what lists of settings start from. In an order that depends on the question alone. At most so many
// devices are used, and all of them where the question wants that.
std::vector<PlanSetting> plan_grids(const PlanQuestion& question, std::int64_t devices);
// The settings with the degrees and the micro-batch size of a grid.
std::vector<PlanSetting> settings_of(const PlanQuestion& question, const PlanSetting& grid);

// What the stages of a setting can be made of, with these nodes by kind.
StageMakes stage_makes(const PlanQuestion& question, const PlanSetting& setting,
                       std::span<const std::int32_t> nodes);

PlanCandidate candidate_of(const PlanSetting& setting, std::vector<NodeRun> nodes,
                           std::vector<std::int64_t> partition = {});

// By virtual stage: see PlanSpace::few_partitions. And what one chunk of a stage has.
constexpr std::int64_t layers_of_chunk(std::int64_t layers_of_stage, std::int64_t chunk,
                                       std::int64_t virtual_stages) {
  return layers_of_stage / virtual_stages + (chunk < layers_of_stage % virtual_stages ? 1 : 0);
}
std::vector<std::int64_t> spread_over_chunks(std::span<const std::int64_t> layers_of_stages,
                                             std::int64_t virtual_stages);
// Ways to put the layers into so many chunks, empty ones too; `most` if there are as many or more.
std::int64_t partitions_up_to(std::int64_t layers, std::int64_t chunks, std::int64_t most);

// 1, 2, 3, 6 of 6.
std::vector<std::int64_t> divisors_of(std::int64_t number);

}  // namespace nadi::inline predict
