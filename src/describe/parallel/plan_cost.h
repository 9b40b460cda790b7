// What each stage of a plan costs in a training step, without building its program: for searches over many
// plans of one model.
//
//   PlanCosts costs(config);
//   if (!why_infeasible(config, request, plan))
//     for (const StageCost& stage : costs.of(request, plan).stages) ...
//
// Every figure equals that of the program: summarize(build_step(config, request, plan, stage)) is the oracle.
// Costs are put together from those of chunks (embedding, layers, head: chunk_cost.h), of the reduction and
// the optimizer (reduction_cost.h) and of the schedule (pipeline_memory.h), each kept by what it depends on:
// a plan whose parts have all been met before takes a few microseconds per stage. The object grows with the
// number of different parts; dropping it frees them. Not thread-safe: one per thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "nadi/parallel/chunk_cost.h"
#include "nadi/parallel/chunk_family.h"
#include "nadi/parallel/pipeline_memory.h"
#include "nadi/parallel/reduction_cost.h"
#include "nadi/parallel/step_program.h"
#include "nadi/parallel/step_work.h"

namespace nadi::inline describe {

// As in MemorySummary and ProgramMemory.
struct StageMemory {
  std::array<Bytes, kRoleCount> resident{};
  Bytes arena;             // what one section at a time works in
  Bytes in_slots;          // kept by all micro-batches that are in flight
  Bytes in_rings;          // received ahead of use
  Bytes activations;       // all three
  Bytes activations_live;  // the most that is alive at once; the arena may have gaps
  std::int64_t slots = 1;  // micro-batches in flight at once, summed over chunks
  Bytes kept;              // by one micro-batch, for its backward pass, in all chunks
  Bytes kept_per_block;

  Bytes of(Role role) const { return resident[static_cast<std::size_t>(role)]; }
  Bytes total() const;
  bool operator==(const StageMemory&) const = default;
};

struct StageCost {
  std::int64_t parameters = 0;
  StepWork work;  // of the whole step, all micro-batches
  StageMemory memory;
};

struct PlanCost {
  std::vector<StageCost> stages;
};

// The memory of a stage with one chunk, before it is known how many micro-batches it holds at once; only
// whether those are several.
struct StageMemoryParts {
  Bytes resident = {};
  Bytes slot = {};  // of each micro-batch that is in flight, where there are several
  Bytes arena = {};
  std::vector<ChunkCost::Ring> rings = {};
};

class PlanCosts {
 public:
  explicit PlanCosts(const ModelConfig& config);
  ~PlanCosts();
  PlanCosts(const PlanCosts&) = delete;
  PlanCosts& operator=(const PlanCosts&) = delete;

  // The request is for training, and the plan fits it: why_infeasible() has nothing against it.
  PlanCost of(const StepRequest& request, const Plan& plan);

  // What a stage with so many layers holds, for plans with one virtual stage per stage: `stage` says only whether it
  // is the first or the last. StageMemory::total() is the sum, with slots and places as the schedule has
  // them.
  StageMemoryParts memory_parts(const StepRequest& request, const Plan& plan, std::int64_t stage,
                                std::int64_t layers, bool several);
  // The chunks of a key, with micro-batches of all forms. Stays where it is.
  ChunkFamily& family(const ChunkKey& key);
  // What one stage of any plan holds; `partition` by virtual stage, of which those of the other stages are of no
  // account.
  Bytes memory_of(const StepRequest& request, const Plan& plan, std::int64_t stage,
                  const std::vector<std::int64_t>& partition);
  PipelineMemory& schedule_of(const Plan& plan) {
    return pipeline({plan.schedule, plan.pp, plan.virtual_stages, plan.micro_batches});
  }

 private:
  struct UsedChunk {
    ChunkFamily* family = nullptr;
    const ChunkCost* cost = nullptr;
    std::int64_t layers = 0;
    ArenaNeed arena = {};
  };

  UsedChunk chunk(const StepRequest& request, const Plan& plan, const ChunkPlace& place, bool pipelined);
  const ReductionCosts& reduction(const ReductionKey& key);
  const ReductionCosts& reduction(const StepRequest& request, const Plan& plan, std::int64_t stage);
  PipelineMemory& pipeline(const PipelineRequest& request);
  StageCost stage_cost(const StepRequest& request, const Plan& plan, std::int64_t stage,
                       const std::vector<std::int64_t>& partition);

  const ModelConfig config_;
  std::unordered_map<ChunkKey, std::unique_ptr<ChunkFamily>, ChunkKeyHash> families_;
  std::vector<std::unique_ptr<ReductionCosts>> reductions_;
  std::map<std::array<std::int64_t, 4>, std::unique_ptr<PipelineMemory>> pipelines_;
};

}  // namespace nadi::inline describe
