// The memory of a stage by its number of layers, from parts that are kept: what PlanCosts (parallel/) says.
//
//   StageMemoryTable memory(config);
//   memory.of(request, plan, stage)[7]                  // with 7 layers; plans with one virtual stage
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/model/model_config.h"
#include "nadi/parallel/plan_cost.h"

namespace nadi::inline predict {

class StageMemoryTable {
 public:
  explicit StageMemoryTable(const ModelConfig& config);

  // By number of layers, 0 to all. Stays where it is as long as this lives. The plan has one virtual stage.
  std::span<const Bytes> of(const StepRequest& request, const Plan& plan, std::int64_t stage);
  // One of them, without working out the others.
  Bytes of(const StepRequest& request, const Plan& plan, std::int64_t stage, std::int64_t layers);

  PlanCosts& costs() { return costs_; }

  // Any plan, with its partition: by stage.
  std::vector<Bytes> of_plan(const StepRequest& request, const Plan& plan);

 private:
  // A stage by its number of layers, before it is known what it holds at once.
  struct Kind {
    ChunkKey key;
    std::int64_t data_ranks = 1;  // that the optimizer is split over
    bool splits_model = false;
    bool several = false;  // micro-batches in flight
    std::vector<std::optional<StageMemoryParts>> parts = {};
    std::vector<ChunkCost::Ring> rings = {};  // each once, of any size; where all parts are there
    bool complete = false;
    // By slots, and by places of the rings.
    std::map<std::vector<std::int64_t>, std::vector<Bytes>> known = {};
  };
  Kind& kind_of(const StepRequest& request, const Plan& plan, std::int64_t stage, bool several);
  const StageMemoryParts& parts_of(Kind& kind, const StepRequest& request, const Plan& plan,
                                   std::int64_t stage, std::int64_t layers);
  void complete(Kind& kind, const StepRequest& request, const Plan& plan, std::int64_t stage);
  static Bytes sum_of(const StageMemoryParts& parts, PipelineMemory& schedule, std::int64_t stage);

  const ModelConfig& config_;
  PlanCosts costs_;
  std::unordered_map<ChunkKey, std::vector<std::unique_ptr<Kind>>, ChunkKeyHash> kinds_;
  std::vector<std::int64_t> held_;  // slots and places under way
};

}  // namespace nadi::inline predict
