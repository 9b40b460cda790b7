#include "nadi/plan/partition_bound.h"

#include <limits>

namespace nadi::inline predict {
namespace {

// The stage's own micro-batches one after the other. The first forward comes after a message, if at all.
std::int64_t alone(const PipelineShape& shape, const PartitionCosts& costs) {
  const std::int64_t ahead =
      shape.virtual_stages > 1 ? costs.chunks.ahead : costs.forward - costs.forward_after;
  return shape.micro_batches * costs.both() - ahead;
}

std::int64_t detour(const PathBound::Detours& detours, std::int64_t micro_batches) {
  const std::int64_t most = PathBound::kDetours - 1;
  return micro_batches / most * detours.back() + detours[static_cast<std::size_t>(micro_batches % most)];
}

// With rounds of this stage and those behind it. Micro-batches in this stage alone are no detour: the first
// and the last ones have no backward, or no forward, beside them.
PathBound::Detours with_rounds(const PathBound::Detours& behind, std::int64_t stages, std::int64_t round) {
  PathBound::Detours detours = behind;
  for (std::int64_t m = stages; m < PathBound::kDetours; ++m) {
    std::int64_t& most = detours[static_cast<std::size_t>(m)];
    most = std::max(most, detours[static_cast<std::size_t>(m - stages)] + round);
  }
  return detours;
}

constexpr std::int64_t kNoWay = std::numeric_limits<std::int64_t>::min() / 4;

// Forwards of a stage between that of the first micro-batch in its last chunk and the backward of the same.
std::int64_t meanwhile(const PipelineShape& shape, const PartitionCosts& costs, std::int64_t stage) {
  const std::int64_t group = shape.stages - 1, forwards = 2 * (group - stage);
  const std::int64_t of_next =
      shape.micro_batches > shape.stages ? std::max<std::int64_t>(0, forwards - group) : 0;
  return std::min(group, forwards) * costs.chunks.last_forward + of_next * costs.chunks.first_forward;
}

// What a path through all chunks takes longer because it stays in this stage up to the last backward of its
// last chunk, from its first forward there or from when that has come back; `last_chunks` are those of this
// stage and all behind it.
std::int64_t stay(const PipelineShape& shape, const PartitionCosts& costs, std::int64_t stage,
                  std::int64_t last_chunks) {
  const ChunkPathCosts& chunks = costs.chunks;
  if (!chunks.has_last) return kNoWay;
  return shape.micro_batches * costs.both() - shape.stages * (costs.both() - chunks.last) -
         std::min(chunks.last_ahead + last_chunks, meanwhile(shape, costs, stage) + chunks.last);
}

// With this stage in front; `send` is what follows it. `bound.backward_end` has the first path already.
void add_chunk_paths(const PipelineShape& shape, PathBound& bound, const PathBound& behind,
                     const PartitionCosts& costs, const PartitionSend& send, std::int64_t stage) {
  const ChunkPathCosts& chunks = costs.chunks;
  const std::int64_t both = send.activations + send.gradients;
  std::int64_t latency = bound.backward_end;
  if (chunks.has_last)
    latency = std::max(latency, alone(shape, costs) + both + behind.last_chunks -
                                    meanwhile(shape, costs, stage) - chunks.last_back_ahead);
  const std::int64_t after = costs.forward_after + costs.backward_after;
  bound.joined = kNoWay;
  if (behind.joined > 0) bound.joined = after + both + behind.joined;
  if (chunks.has_first) {
    // Both the first forward and the first backward of the group come after a message.
    const std::int64_t back_ahead = chunks.first - chunks.first_forward - costs.backward_after;
    latency =
        std::max(latency, shape.stages * chunks.first - chunks.ahead - back_ahead + both + behind.joined);
    bound.joined =
        std::max(bound.joined, after + shape.micro_batches * costs.both() - shape.stages * chunks.first);
  }
  bound.round = behind.round + chunks.chain + shape.virtual_stages * both;
  bound.last_chunks = behind.last_chunks + chunks.last_chain + both;
  bound.longest_part = behind.longest_part - chunks.last_chain - both;
  bound.longest = std::max(behind.longest, stay(shape, costs, stage, -bound.longest_part));
  bound.detours[0] = behind.detours[0] + chunks.chain_back + shape.virtual_stages * send.gradients;
  bound.detours[1] =
      std::max(behind.detours[1], shape.virtual_stages * shape.micro_batches * send.activations);
  const std::int64_t groups = shape.micro_batches / shape.stages;
  bound.backward_end = std::max({latency, bound.round + bound.longest, (groups + 1) / 2 * bound.round,
                                 bound.detours[0] + bound.detours[1]});
}

// Nothing but the first stage's start comes before its first forward.
void finish(PathBound& bound, const PartitionCosts& costs, std::int64_t stage) {
  if (stage == 0) {
    bound.backward_end += costs.start;
    bound.end += costs.start;
  }
  bound.end = std::max(bound.end, std::max(bound.backward_end, bound.launch_end) + costs.tail);
}

}  // namespace

void PartitionCosts::add_chunk(const Chunk& chunk) {
  const std::int64_t after = chunk.forward_after + chunk.backward_after;
  const std::int64_t ahead = chunk.forward - chunk.forward_after;
  if (chunks.count++ == 0) {
    forward_after = chunk.forward_after;
    backward_after = chunk.backward_after;
    chunks.first_forward = chunk.forward;
    chunks.first = chunk.forward + chunk.backward;
    chunks.ahead = ahead;
    chunks.has_first = !chunk.empty;
  }
  forward += chunk.forward;
  backward += chunk.backward;
  chunks.chain += after;
  chunks.chain_back += chunk.backward_after;
  chunks.has_last = !chunk.empty;
  chunks.last_forward = chunk.forward;
  chunks.last = chunk.forward + chunk.backward;
  chunks.last_chain = after;
  chunks.last_ahead = ahead;
  chunks.last_back_ahead = chunk.backward - chunk.backward_after;
}

void PathBound::merge_detours(const PathBound& other) {
  for (std::size_t m = 0; m < detours.size(); ++m) detours[m] = std::min(detours[m], other.detours[m]);
}

void PathBound::merge(const PathBound& other) {
  round = std::min(round, other.round);
  longest = std::min(longest, other.longest);
  longest_part = std::min(longest_part, other.longest_part);
  backward_end = std::min(backward_end, other.backward_end);
  launch_end = std::min(launch_end, other.launch_end);
  end = std::min(end, other.end);
  update = std::min(update, other.update);
  last_chunks = std::min(last_chunks, other.last_chunks);
  joined = std::min(joined, other.joined);
  merge_detours(other);
}

PathBound last_stage(const PipelineShape& shape, const PartitionCosts& costs) {
  PathBound bound{.backward_end = alone(shape, costs),
                  .launch_end = shape.micro_batches * costs.launch,
                  .update = costs.update};
  if (shape.virtual_stages > 1) {
    add_chunk_paths(shape, bound, {.longest = kNoWay, .joined = kNoWay}, costs, {}, shape.stages - 1);
    finish(bound, costs, shape.stages - 1);
    return bound;
  }
  bound.round = costs.forward_after + costs.backward;
  bound.longest = costs.both();
  bound.longest_part = std::max(costs.forward, costs.backward);
  if (shape.schedule == ScheduleKind::kGPipe) {
    bound.longest = costs.forward;
    bound.longest_part = costs.backward;
  } else {
    bound.detours = with_rounds({}, 1, costs.both());
  }
  finish(bound, costs, shape.stages - 1);
  return bound;
}

PathBound with_stage_before(const PipelineShape& shape, const PathBound& behind, const PartitionCosts& costs,
                            const PartitionSend& send, std::int64_t stage) {
  const std::int64_t through = costs.forward_after + send.activations + send.gradients + costs.backward_after;
  const std::int64_t others = shape.micro_batches - 1;
  PathBound bound{.launch_end = std::max(shape.micro_batches * costs.launch,
                                         behind.launch_end + send.gradients + costs.backward_after),
                  .end = costs.forward_after + send.activations + behind.end,
                  .update = std::max(behind.update, costs.update)};
  std::int64_t latency = std::max(through + behind.backward_end, alone(shape, costs));
  if (shape.virtual_stages > 1) {
    bound.backward_end = latency;
    add_chunk_paths(shape, bound, behind, costs, send, stage);
    finish(bound, costs, stage);
    return bound;
  }
  bound.round = through + behind.round;
  if (shape.schedule == ScheduleKind::kGPipe) {
    bound.longest = std::max(behind.longest, costs.forward);
    bound.longest_part = std::max(behind.longest_part, costs.backward);
    latency = std::max(latency, bound.round + others * (bound.longest + bound.longest_part));
  } else {
    bound.longest = std::max(behind.longest, costs.both());
    bound.longest_part = std::max({behind.longest_part, costs.forward, costs.backward});
    // The first forwards of a stage come one after the other, and so do its last backwards.
    latency = std::max(latency, bound.round + others * bound.longest_part);
    const std::int64_t stages = shape.stages - stage;
    bound.detours = with_rounds(behind.detours, stages, bound.round);
    const std::int64_t rounds = others / stages, rest = others % stages;
    latency = std::max(latency, (1 + rounds) * bound.round + detour(bound.detours, rest));
    if (rounds > 0)
      latency = std::max({latency, (1 + rounds) * bound.round + rest * bound.longest,
                          2 * bound.round + (others - stages) * bound.longest});
  }
  bound.backward_end = latency;
  finish(bound, costs, stage);
  return bound;
}

PipelineShape shape_of(const Plan& plan) {
  return {.schedule = plan.schedule,
          .stages = plan.pp,
          .micro_batches = plan.micro_batches,
          .virtual_stages = plan.virtual_stages};
}

}  // namespace nadi::inline predict
