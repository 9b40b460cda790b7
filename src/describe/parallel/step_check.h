// Whether a step can be built, and why not.
//
//   if (const auto why = why_infeasible(config, request, plan)) ... why->reason, why->numbers
//
// why_infeasible() neither throws nor puts texts together: it is for searches that meet many plans that do
// not fit. The check functions throw Error (usage) with the same reason in words; build_step() calls both.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "nadi/parallel/step_program.h"

namespace nadi::inline describe {

enum class Misfit : std::uint8_t {
  // of the request with the model
  kBatchSize,          // below 1
  kRecomputedLayers,   // below 1
  kTooManyRecomputed,  // at a time; layers of the model
  kFp8Type,            // fp8 without bf16
  kSampling,           // in a step that draws no tokens
  kDoesNotGenerate,
  kSequenceLength,  // below 1
  kInputTokens,     // below 1
  kOutputTokens,    // below 1
  kPositions,       // tokens; positions of the model
  kWindow,          // tokens; of the attention window
  // of the plan with the model and the request
  kTensorDegree,         // below 1
  kContextDegree,        // below 1
  kDataDegree,           // below 1
  kPipelineDegree,       // below 1
  kVirtualStages,        // below 1
  kTooManyRanks,         // more than 2^30
  kMicroBatches,         // below 1
  kTooManyMicroBatches,  // number; most
  kMicroBatchesOfStep,   // of a step that is not training
  kBatchDivision,        // batch; micro-batches
  kHeads,                // heads; tensor-parallel ranks
  kKeyValueHeads,        // heads; tensor-parallel ranks
  kFeedForwardWidth,     // width; tensor-parallel ranks
  kExpertWidth,          // likewise, of experts
  kNoExperts,            // options of experts, for a model that has none
  kPaddedCapacity,       // padded to a capacity that is not given
  kCapacityFactor,       // below 0
  kPooledBalance,        // stages
  kExpertDegree,         // below 1
  kExpertTensorDegree,   // below 0
  kExpertsOfModel,       // of expert-parallel ranks, for a model that has none
  kExpertDivision,       // experts; expert-parallel ranks
  kExpertRanks,          // etp; ep; ranks of a stage
  kExpertTokens,         // tensor-parallel ranks without sequence parallelism
  kExpertsOfStep,        // of a step that generates
  kRankCapacity,         // below 0
  kSequenceParallel,     // without tensor parallelism
  kZeroStage,            // stage
  kSgdSaiTensor,         // tensor-parallel ranks
  kSgdSaiZero,
  kStagesOfStep,  // stages of a step that generates
  kContextOfStep,
  kSequenceParallelOfStep,
  kContextPieces,   // tokens; pieces; context-parallel ranks
  kSequenceTokens,  // tokens; tensor-parallel ranks
  kContextAttention,
  kSchedule,           // see why_no_schedule() in pipeline_schedule.h
  kPartitionParts,     // parts; stages
  kPartitionNegative,  // layers of a stage
  kPartitionLayers,    // layers of the partition; of the model
};

struct Infeasible {
  Misfit reason{};
  std::array<std::int64_t, 3> numbers{};  // that do not fit, as the reason lists them
};

// The first thing that does not fit; nullopt when the step can be built.
std::optional<Infeasible> why_infeasible(const ModelConfig& config, const StepRequest& request,
                                         const Plan& plan);

// Checks the request against the model: for example a sequence longer than the model's positions, or a
// model that does not generate text.
void check_request(const ModelConfig& config, const StepRequest& request);

// Checks the plan against the model and the request: for example heads that do not divide over the ranks.
void check_plan(const ModelConfig& config, const StepRequest& request, const Plan& plan);

}  // namespace nadi::inline describe
