// The order in which the stages of a pipeline work, and the messages between them.
//
//   const PipelineRequest request{.kind = ScheduleKind::k1F1B, .stages = 4, .micro_batches = 8};
//   for (const PipelineRound& round : pipeline_rounds(request)[stage]) {
//     if (round.task) run(*round.task);
//     exchange(round.exchange);  // post all of them, then wait for all of them
//   }
//
// Each stage holds `virtual_stages` chunks of layers. Chunk c of stage s is number c * stages + s in the
// model's order; activations go from each chunk to the one with the next number, gradients back. Stages that
// follow their lists as above never deadlock, even where a send ends only when its receive is posted.
//
// What else always holds, and what callers build on:
// - A stage sends at most one message in a round, the output of that round's task. So any two stages
//   exchange at most one message per round and direction, and messages need no tags: the n-th send from a to
//   b is the n-th receive of b from a.
// - The forwards of a chunk run in the order of the micro-batches, and so do its backwards. Slots of
//   activations can therefore be reused in turn: micro-batch modulo slots_needed().
// - A message may arrive rounds before the task that uses it. An input that arrives early is not counted by
//   slots_needed(): its micro-batch's slot may still belong to an earlier one, so it needs a place of its
//   own. With kGPipe and k1F1B at most one input and one gradient of a stage wait at a time; with
//   kInterleaved there may be several per chunk.
// - Waiting for whole exchanges ties neighbours together. That costs nothing where all tasks take equally
//   long, nor with kGPipe and k1F1B; with kInterleaved and longer backwards it costs some time, which an
//   engine that posts without blocking saves.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "nadi/parallel/plan.h"

namespace nadi::inline describe {

// One unit of work of a pipeline stage.
struct PipelineTask {
  bool backward = false;
  std::int32_t chunk = 0;  // of this stage: 0 to virtual_stages - 1
  std::int32_t micro_batch = 0;

  bool operator==(const PipelineTask&) const = default;
};

// One message between neighbours, seen from one of them.
struct PipelineTransfer {
  bool send = false;      // or receive
  bool gradient = false;  // or activations
  // A chunk of this stage. Activations: the chunk whose output is sent, or whose input is received. Gradients: the
  // chunk whose input's gradient is sent, or whose output's gradient is received.
  std::int32_t chunk = 0;
  std::int32_t micro_batch = 0;
  std::int32_t peer = 0;  // the other stage

  bool operator==(const PipelineTransfer&) const = default;
};

// What a stage does in one round: a task, then an exchange whose transfers are posted together and end
// together. Sends come first, then by chunk and micro-batch.
struct PipelineRound {
  std::optional<PipelineTask> task = {};
  std::vector<PipelineTransfer> exchange = {};
};

struct PipelineRequest {
  ScheduleKind kind = ScheduleKind::k1F1B;
  std::int64_t stages = 1;
  std::int64_t virtual_stages = 1;  // chunks per stage: more than 1 with kInterleaved, else 1
  std::int64_t micro_batches = 1;   // with kInterleaved a multiple of `stages`
};

// Why a request has no schedule; nullopt when it has one. Puts no text together.
enum class NoSchedule : std::uint8_t {
  kStages,            // below 1
  kVirtualStages,     // below 1
  kMicroBatches,      // below 1
  kNotInterleaved,    // several virtual stages without kInterleaved
  kOneStage,          // interleaved with fewer than 2 stages
  kOneVirtualStage,   // interleaved with fewer than 2 virtual stages
  kMicroBatchRounds,  // interleaved with micro-batches that are no multiple of the stages
  kTooLong,           // tasks, chunks and micro-batches are numbered with 32 bits
};
std::optional<NoSchedule> why_no_schedule(const PipelineRequest& request);
void check_schedule(const PipelineRequest& request);  // throws that as a usage error

// All functions below throw a usage error for a request that has no schedule. A `stage` or `chunk` outside of
// the request is a bug of the caller.

// The tasks of a stage in order.
std::vector<PipelineTask> pipeline_tasks(const PipelineRequest& request, std::int64_t stage);

// The rounds of every stage (outer index: stage), rounds in which a stage does nothing left out.
std::vector<std::vector<PipelineRound>> pipeline_rounds(const PipelineRequest& request);

// The most micro-batches of one chunk whose forward is done and whose backward is not: activation slots
// needed.
std::int64_t slots_needed(const PipelineRequest& request, std::int64_t stage, std::int64_t chunk);

}  // namespace nadi::inline describe
