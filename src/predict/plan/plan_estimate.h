// How long a step takes under a plan and how much memory each stage needs, without building graphs: what a
// search asks tens of thousands of times.
//
//   PlanEstimator estimator(question);
//   const PlanEstimate estimate = estimator.of(candidate);
//   estimate.iteration, estimate.stages[3].memory
//
// Plans that differ in their partition alone have tables in common, times and memory of each stage by its number of
// layers, which searches over partitions work on:
//
//   const PlanTables& tables = estimator.tables(candidate);        // its partition is of no account
//   tables.chunks[2].forward[7].run                                // of 7 layers there
//   estimator.iteration(tables, partition)                         // what of(candidate).iteration says
//
// The model is the simulator's (sim/): the same device model, network model, layer times and overlap, put
// together per stage instead of per op. simulate_plan() (plan_candidate.h) is the oracle. Memory equals
// what PlanCosts (parallel/) says, and so the built program's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "nadi/base/units.h"
#include "nadi/plan/block_times.h"
#include "nadi/plan/pipeline_latency.h"
#include "nadi/plan/plan_candidate.h"
#include "nadi/plan/plan_question.h"
#include "nadi/plan/reduction_times.h"

namespace nadi::inline predict {

struct StageEstimate {
  std::int64_t layers = 0;
  std::int32_t device = 0;  // kind of its slowest device: index into Cluster::devices
  // Time of one micro-batch in all chunks of the stage, with tensor-parallel collectives and, where it takes
  // longer, the launching of their ops; without waiting for other stages.
  Nanoseconds forward = {}, backward = {};
  Nanoseconds send = {};  // of activations to the next stage, one message; 0 for the last one
  Nanoseconds reduction =
      {};                   // of gradients over data-parallel ranks and their norm, after the backward pass
  Nanoseconds update = {};  // optimizer; under ZeRO with the gathering of parameters
  Bytes memory = {};        // what a device of the stage reserves (SimulatedMemory::reserved)
  Bytes capacity = {};      // of its smallest device, whole; 0 means not known
};

struct PlanEstimate {
  Nanoseconds iteration = {};
  // Parts of it, which add up to it: until the last backward pass of all stages has ended; what the word
  // embeddings' reduction over stages, then what the reduction over data-parallel ranks and the norm of all
  // gradients add to that; the update of the slowest stage.
  Nanoseconds pipeline = {}, embedding_reduction = {}, data_reduction = {}, update = {};
  std::vector<StageEstimate> stages = {};
  std::optional<double> dollars_per_step =
      {};  // of the nodes that are used; nullopt means a price is missing

  // Memory beyond what the fullest stage has, with limits.memory_share; 0 means it fits.
  Bytes missing_memory = {};
  bool fits() const { return missing_memory.count() == 0; }
};

// Every array has an entry for 0, 1, ... layers up to all of the model. iteration() follows the times of the
// tables along every path of the schedule, and adds waiting only: a path that counts `run` for passes that
// follow one another on a stage, `after_input` for a pass that follows its message, and `activations` and
// `gradients` for messages is a lower bound. Where measured layers differ from each other (LayerTimes), the
// tables have the least of as many consecutive ones, and iteration() those that the partition names.
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

struct StageAfter {
  Nanoseconds reduction = {}, update = {};  // as in StageEstimate
};

// Not modelled, so that estimates differ from simulations there:
// - ranks of a stage that differ (nodes of several kinds): all take the time of the slowest;
// - sharing above the ports of nodes, and in fabrics of nodes that are rings or meshes;
// - computation that communication slows down (Fabric::compute_share, busy_slowdown,
// NodeSpec::alone_speedup);
// - the time that a host needs to launch the reductions, where that holds the backward pass back itself;
// - with OverlapOptions::blocking_collectives, that reductions within the last backward pass hold back the
//   gradient which the stage sends: by up to a third where reductions take long.
// Elsewhere half of all plans are within 0.01% of the simulator, nine of ten within 0.5%
// (docs/performance.md).
class PlanEstimator {
 public:
  // The question must outlive this. Not thread-safe: one per thread. Parts that several plans have in common
  // (block_times.h, reduction_times.h, plan_network.h) are worked out once and kept; a plan of known parts
  // takes microseconds.
  explicit PlanEstimator(const PlanQuestion& question);
  ~PlanEstimator();

  // The plan fits the model: why_infeasible() has nothing against it.
  PlanEstimate of(const PlanCandidate& candidate);

  // The same for many partitions. Valid until the next call of tables() or of().
  const PlanTables& tables(const PlanCandidate& candidate);
  // What of(candidate) says, where the tables are those of the candidate and it names its partition.
  PlanEstimate of(const PlanTables& tables, const PlanCandidate& candidate);
  // PlanEstimate::iteration, without allocating.
  Nanoseconds iteration(const PlanTables& tables, std::span<const std::int64_t> partition);
  // PlanEstimate::missing_memory, where a device may take no more than is `allowed`, too.
  Bytes missing_memory(const PlanTables& tables, std::span<const std::int64_t> partition,
                       const std::optional<Bytes>& allowed = {});

  // What follows the last backward of a stage with several virtual stages at least: as if all of its chunks
  // but the first, which ends last, had ended long before. Layers of other stages are of no account.
  StageAfter least_after(const PlanTables& tables, std::int64_t stage,
                         std::span<const std::int64_t> partition);

  // Memory of a stage without tables, wherever it is placed: by number of layers, for plans with one virtual
  // stage; and with the candidate's partition, where only the stage's own chunks are of account.
  std::span<const Bytes> memory_by_layers(const PlanCandidate& candidate, std::int64_t stage);
  Bytes stage_memory(const PlanCandidate& candidate, std::int64_t stage);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace nadi::inline predict
