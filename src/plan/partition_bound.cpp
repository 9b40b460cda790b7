#include "nadi/plan/partition_bound.h"

#include "nadi/base/error.h"

namespace nadi {
namespace {

// The stage's own micro-batches one after the other. The first forward comes after a message, if at all.
std::int64_t alone(const PipelineShape& shape, const PartitionCosts& costs) {
  return shape.micro_batches * costs.both() - (costs.forward - costs.forward_after);
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

// Nothing but the first stage's start comes before its first forward.
void finish(PathBound& bound, const PartitionCosts& costs, std::int64_t stage) {
  if (stage == 0) {
    bound.backward_end += costs.start;
    bound.end += costs.start;
  }
  bound.end = std::max(bound.end, std::max(bound.backward_end, bound.launch_end) + costs.tail);
}

}  // namespace

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
  merge_detours(other);
}

PathBound last_stage(const PipelineShape& shape, const PartitionCosts& costs) {
  PathBound bound{.round = costs.forward_after + costs.backward,
                  .longest = costs.both(),
                  .longest_part = std::max(costs.forward, costs.backward),
                  .backward_end = alone(shape, costs),
                  .launch_end = shape.micro_batches * costs.launch,
                  .update = costs.update};
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
  check(shape.schedule != ScheduleKind::kInterleaved, "paths of interleaved schedules are others");
  const std::int64_t through = costs.forward_after + send.activations + send.gradients + costs.backward_after;
  const std::int64_t others = shape.micro_batches - 1;
  PathBound bound{.round = through + behind.round,
                  .launch_end = std::max(shape.micro_batches * costs.launch,
                                         behind.launch_end + send.gradients + costs.backward_after),
                  .end = costs.forward_after + send.activations + behind.end,
                  .update = std::max(behind.update, costs.update)};
  std::int64_t latency = std::max(through + behind.backward_end, alone(shape, costs));
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

}  // namespace nadi
