// Lower bounds of a pipeline's latency, put together stage by stage from the last to the first.
//
//   PathBound bound = last_stage(shape, costs);
//   bound = with_stage_before(shape, bound, costs, {.stage = s, .send = ...});
//   bound.total()                                   // no pipeline of these stages ends earlier
//
// A schedule is a graph of tasks: forwards F(s, m) and backwards B(s, m) of stage s and micro-batch m, each
// after the one before it in its stage and after the message that it waits for. Every path through that graph
// is a lower bound of the latency, whatever else the stages wait for. The bound of a pipeline is the longest
// of these paths, each of which needs little to be known of the stages behind:
// - straight through: to the last stage and back, with the latency of the stages behind;
// - all micro-batches in the first stage;
// - to and fro between a stage and the last one. With 1F1B, a stage with k - 1 stages behind it starts the
//   forward of micro-batch m + k after the backward of m: each round of k stages takes their sum and all
//   messages on the way for k micro-batches. Where messages take long this is what limits the throughput.
//   Rounds of different stages can follow each other: `detours`;
// - once or twice to the last stage, with the other micro-batches in the slowest stage.
// With v chunks per stage, forwards go through the chunks of a stage in groups of as many micro-batches as
// there are stages, and backwards the other way round. So there are these paths instead:
// - through the first chunks of the stages before, all micro-batches in all chunks of one stage, and back: its
//   first task is the forward of its first chunk, and its last one the backward of the same chunk;
// - the same, with the first micro-batch going on to the model's end and back once it has come to the stage's
//   last chunk, in place of the forwards that the stage does meanwhile;
// - the same, with the first chunks of the first and the last group in an earlier stage: `joined`;
// - through all chunks up to the last one of a stage, or to the model's end and back to that one, what the
//   stage does then up to the last backward there, and back;
// - through all chunks and back for every other group: a stage does not start the group after the next one
//   before a group has come back;
// - all activations from one stage to the next, one after the other, and the last micro-batch back through
//   all chunks.
// All of it grows with its parts. So of two bounds of which one is nowhere larger, only that one can lead to
// the best pipeline's bound (`dominates`, which does not look at detours: merge() keeps the smaller ones).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "nadi/parallel/plan.h"

namespace nadi::inline predict {

// Costs of a stage with several chunks, nanoseconds of one micro-batch.
struct ChunkPathCosts {
  std::int32_t count = 0;
  // After the pass before it in its stage: forward of the first and of the last chunk; both passes of either.
  std::int64_t first_forward = 0, last_forward = 0, first = 0, last = 0;
  // After its message: both passes of all chunks; the backwards alone; both passes of the last chunk.
  std::int64_t chain = 0, chain_back = 0, last_chain = 0;
  // What a pass does before its message is there: forwards of the first and the last chunk, backward of the
  // last.
  std::int64_t ahead = 0, last_ahead = 0, last_back_ahead = 0;
  // The chunk is not empty: then its passes wait for each other, and its stage for them.
  bool has_first = false, has_last = false;
};

// What one stage takes, in nanoseconds: of one micro-batch unless said otherwise.
struct PartitionCosts {
  // After the pass before it in its stage; of all chunks together.
  std::int64_t forward = 0, backward = 0;
  // After the message that it waits for; less where something is recomputed meanwhile. Of the first chunk.
  std::int64_t forward_after = 0, backward_after = 0;
  std::int64_t launch = 0;  // of both passes, by the host, which waits for nothing
  std::int64_t start = 0;   // once, before the first forward
  std::int64_t tail = 0;    // once, after the last backward: reduction of gradients, as far as not hidden
  std::int64_t update = 0;  // once, after the tails of all stages

  ChunkPathCosts chunks = {};

  std::int64_t both() const { return forward + backward; }

  // One more chunk of stages with several, in order. Passes as above.
  struct Chunk {
    std::int64_t forward = 0, backward = 0, forward_after = 0, backward_after = 0;
    bool empty = false;
  };
  void add_chunk(const Chunk& chunk);
};

struct PartitionSend {
  std::int64_t activations = 0, gradients = 0;  // nanoseconds of a message
};

struct PipelineShape {
  ScheduleKind schedule = ScheduleKind::k1F1B;
  std::int64_t stages = 1, micro_batches = 1;
  std::int64_t virtual_stages = 1;  // more: kInterleaved
};

PipelineShape shape_of(const Plan& plan);
// Work of evaluating one pipeline.
constexpr std::int64_t evaluation_work(const PipelineShape& shape) {
  return 2 * shape.stages * shape.virtual_stages * shape.micro_batches;
}

// Bound of the stages s to the last one as a pipeline by itself; nanoseconds.
struct PathBound {
  // 1F1B: [m] is the most that a path takes for m more micro-batches. m and n more take at least the sum, so
  // few of these serve for all. With several chunks, in place of that: [0] the way back through all of them,
  // [1] all activations of the slowest way from a stage to the next.
  static constexpr std::int64_t kDetours = 16;
  using Detours = std::array<std::int64_t, kDetours>;

  std::int64_t round = 0;  // one micro-batch to the last stage and back, through all chunks
  // 1F1B: the longest forward and backward of a stage, and the longest of either. GPipe: the longest forward,
  // and the longest backward. With several chunks: the most that a round with one stage's own work takes
  // longer than a round, and less than nothing, what the last chunks take.
  std::int64_t longest = 0, longest_part = 0;
  std::int64_t backward_end = 0;  // of the first stage's last backward
  std::int64_t launch_end = 0;    // the same, as hosts are busy from the start
  std::int64_t end = 0;           // of all tails
  std::int64_t update = 0;        // the longest
  // With several chunks, the last ones of all stages, with messages; and what a stage does but for the first
  // chunks of two groups, after one micro-batch has come through the first chunks.
  std::int64_t last_chunks = 0, joined = 0;
  Detours detours = {};

  std::int64_t total() const { return std::max({backward_end, launch_end, end}) + update; }
  bool dominates(const PathBound& other) const {
    return round <= other.round && longest <= other.longest && longest_part <= other.longest_part &&
           backward_end <= other.backward_end && launch_end <= other.launch_end && end <= other.end &&
           update <= other.update && last_chunks <= other.last_chunks && joined <= other.joined;
  }
  void merge(const PathBound& other);          // becomes a bound of both
  void merge_detours(const PathBound& other);  // the same for detours alone
};

PathBound last_stage(const PipelineShape& shape, const PartitionCosts& costs);

// `stage` is the number of the one that is put before.
PathBound with_stage_before(const PipelineShape& shape, const PathBound& behind, const PartitionCosts& costs,
                            const PartitionSend& send, std::int64_t stage);

}  // namespace nadi::inline predict
