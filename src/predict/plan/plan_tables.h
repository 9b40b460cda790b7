// All that estimates of plans need which differ in their partition alone: times and memory of each stage by
// its number of layers. What a search over partitions works on.
//
//   const PlanTables& tables = estimator.tables(candidate);        // its partition is of no account
//   tables.chunks[2].forward[7].run                                // of 7 layers there
//   estimator.iteration(tables, partition)                         // what of(candidate).iteration says
//
// Every array has an entry for 0, 1, ... layers up to all of the model. iteration() follows the times of the
// tables along every path of the schedule, and adds waiting only: a path that counts `run` for passes that
// follow one another on a stage, `after_input` for a pass that follows its message, and `activations` and
// `gradients` for messages is a lower bound. Where measured layers differ from each other (LayerTimes), the
// tables have the least of as many consecutive ones, and iteration() those that the partition names.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/parallel/plan.h"
#include "nadi/parallel/step_program.h"
#include "nadi/plan/block_times.h"
#include "nadi/plan/pipeline_latency.h"
#include "nadi/plan/reduction_times.h"

namespace nadi::inline predict {

struct ChunkTable {
  std::span<const PassTimes> forward, backward;  // by layers of the chunk
  const LayerPasses* layers = nullptr;           // where those differ; nullptr means all alike
};

struct StageTable {
  std::int32_t device = 0;  // kind of its slowest device: index into Cluster::devices
  Bytes capacity = {};      // of the smallest of its devices, times limits.memory_share; 0 means not known
  // By layers of the stage; with several virtual stages empty: what follows the pipeline depends on how long
  // before its end each chunk has ended.
  std::span<const Nanoseconds> start;  // before its first forward: gradients are zeroed, parameters gathered
  std::span<const Nanoseconds> reduction;  // from its last backward to reduced gradients and their norm
  std::span<const Nanoseconds> update;     // optimizer, with what is gathered after it under ZeRO
  std::span<const Bytes> memory;           // see missing_memory() for several virtual stages

  // Where they come from.
  ReductionRequestOfStage after;
  const StageReductions* reductions = nullptr;  // nullptr with several virtual stages
};

struct PlanTables {
  Plan plan;                       // without partition
  StepRequest request;             // of a data-parallel rank
  std::int64_t layers = 0;         // of the model
  std::vector<ChunkTable> chunks;  // virtual stages, in the model's order
  std::vector<StageTable> stages;
  std::vector<Nanoseconds> activations;  // of messages from chunk c to c + 1
  std::vector<Nanoseconds> gradients;    // and back
  Nanoseconds embedding_reduction = {};  // of word embeddings that the first and the last stage share, there
  Nanoseconds norm = {};                 // once all gradients are reduced: their norm, over all ranks
  bool norm_joins = false;  // no stage updates before all have their gradients: they share a norm
  bool launches = false;    // hosts need time to launch
};

}  // namespace nadi::inline predict
