// Plain references of what partition_search.h finds: the latency of a pipeline by walking through its
// schedule, and the best of all partitions by trying each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <span>
#include <tuple>
#include <vector>

#include "nadi/parallel/pipeline_schedule.h"
#include "nadi/plan/partition_search.h"

namespace nadi::inline predict {

// Nanoseconds. Of stage s and micro-batch m the forward waits for that of s - 1, the backward for that of
// s + 1, both for what comes before them in their stage.
inline std::int64_t reference_latency(const PipelineShape& shape, std::span<const PartitionCosts> costs,
                                      std::span<const PartitionSend> sends) {
  const PipelineRequest request{
      .kind = shape.schedule, .stages = shape.stages, .micro_batches = shape.micro_batches};
  const auto count = static_cast<std::size_t>(shape.stages);
  std::vector<std::vector<PipelineTask>> tasks;
  std::vector<std::size_t> next(count);
  std::vector<std::int64_t> free(count), host(count);
  for (std::size_t s = 0; s < count; ++s) {
    tasks.push_back(pipeline_tasks(request, static_cast<std::int64_t>(s)));
    free[s] = costs[s].start;
  }
  std::map<std::tuple<bool, std::int64_t, std::int64_t>, std::int64_t>
      arrived;  // backward, stage, micro-batch
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t s = 0; s < count; ++s)
      while (next[s] < tasks[s].size()) {
        const PipelineTask& task = tasks[s][next[s]];
        const auto stage = static_cast<std::int64_t>(s);
        const auto key = std::tuple(task.backward, stage, std::int64_t{task.micro_batch});
        const bool waits = task.backward ? s + 1 < count : s > 0;
        if (waits && !arrived.contains(key)) break;
        const std::int64_t run = task.backward ? costs[s].backward : costs[s].forward;
        const std::int64_t after = task.backward ? costs[s].backward_after : costs[s].forward_after;
        std::int64_t end = free[s] + run;
        if (waits) end = std::max(end, arrived.at(key) + after);
        if (task.backward) host[s] += costs[s].launch;
        end = std::max(end, host[s]);
        free[s] = end;
        if (task.backward && s > 0)
          arrived[{true, stage - 1, task.micro_batch}] = end + sends[s - 1].gradients;
        if (!task.backward && s + 1 < count)
          arrived[{false, stage + 1, task.micro_batch}] = end + sends[s].activations;
        ++next[s];
        moved = true;
      }
  }
  std::int64_t end = 0, update = 0;
  for (std::size_t s = 0; s < count; ++s) {
    end = std::max(end, free[s] + costs[s].tail);
    update = std::max(update, costs[s].update);
  }
  return end + update;
}

struct RandomPartitionProblem {
  std::int64_t most_stages = 4, most_layers = 7, most_micro_batches = 9;
  int most_kinds = 3;
};

// Kinds of stages that differ in speed, in nodes and in stages per node; memory that bounds layers; messages
// from free to slow. `exact` is the reference.
inline StagesProblem random_partition_problem(std::mt19937& random, const RandomPartitionProblem& size) {
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  StagesProblem problem;
  problem.shape = {.schedule = draw(0, 3) == 0 ? ScheduleKind::kGPipe : ScheduleKind::k1F1B,
                   .stages = draw(1, size.most_stages),
                   .micro_batches = draw(1, size.most_micro_batches)};
  problem.layers = draw(0, size.most_layers);
  const std::int64_t kinds = draw(1, size.most_kinds), node_kinds = draw(1, 2);
  for (std::int64_t i = 0; i < node_kinds; ++i)
    problem.nodes.push_back(static_cast<std::int32_t>(draw(1, 4)));
  const std::int64_t slow_send = draw(0, 2) == 0 ? 300 : 40;
  const auto send = [&] { return PartitionSend{draw(0, slow_send), draw(0, slow_send)}; };
  for (std::int64_t k = 0; k < kinds; ++k) {
    PartitionStageKind kind{.stages_per_block = draw(0, 2) == 0 ? draw(2, 3) : 1, .send_within = send()};
    for (std::int64_t i = 0; i < node_kinds; ++i)
      kind.nodes.push_back(static_cast<std::int32_t>(i == k % node_kinds ? draw(1, 2) : draw(0, 1)));
    problem.kinds.push_back(kind);
  }
  problem.send_between.clear();
  for (std::int64_t i = 0; i < kinds * kinds; ++i) problem.send_between.push_back(send());
  std::vector<std::int64_t> speed;
  for (std::int64_t k = 0; k < kinds; ++k) speed.push_back(draw(5, 60));
  const bool launches = draw(0, 2) == 0, recomputes = draw(0, 1) == 0;
  for (std::int64_t s = 0; s < problem.shape.stages; ++s)
    for (std::int64_t k = 0; k < kinds; ++k) {
      const std::int64_t fixed = s == 0 || s + 1 == problem.shape.stages ? draw(0, 50) : 0;
      const std::int64_t layer = speed[static_cast<std::size_t>(k)], tail = draw(0, 30);
      for (std::int64_t l = 0; l <= problem.layers; ++l) {
        PartitionCosts costs{.forward = fixed + layer * l + draw(0, 3),
                             .launch = launches ? draw(0, 40) * l : 0,
                             .start = draw(0, 5) * l,
                             .tail = tail * l,
                             .update = draw(0, 4) * l};
        costs.backward = 2 * costs.forward + draw(0, 3);
        costs.forward_after = costs.forward - (recomputes ? draw(0, costs.forward / 3) : 0);
        costs.backward_after = costs.backward - (recomputes ? draw(0, costs.backward / 3) : 0);
        problem.costs.push_back(costs);
      }
      problem.most_layers.push_back(draw(0, 5) == 0 ? -1 : draw(0, 3) == 0 ? draw(0, 3) : problem.layers);
    }
  return problem;
}

// By stage; the sends between them follow from places in blocks.
inline std::vector<PartitionSend> sends_of(const StagesProblem& problem,
                                           std::span<const std::int32_t> kinds) {
  std::vector<PartitionSend> sends;
  std::int64_t place = 0;
  for (std::size_t s = 0; s + 1 < kinds.size(); ++s) {
    const auto kind = static_cast<std::size_t>(kinds[s]), next = static_cast<std::size_t>(kinds[s + 1]);
    const bool within = place + 1 < problem.kinds[kind].stages_per_block;
    place = within ? place + 1 : 0;
    sends.push_back(within ? problem.kinds[kind].send_within
                           : problem.send_between[kind * problem.kinds.size() + next]);
  }
  return sends;
}

inline std::int64_t reference_of(const StagesProblem& problem, std::span<const std::int32_t> kinds,
                                 std::span<const std::int64_t> layers) {
  std::vector<PartitionCosts> costs;
  for (std::size_t s = 0; s < kinds.size(); ++s)
    costs.push_back(problem.cost(static_cast<std::int64_t>(s), kinds[s], layers[s]));
  return reference_latency(problem.shape, costs, sends_of(problem, kinds)) + problem.after_tails;
}

// Calls `visit` for every sequence of kinds and every partition that the problem allows.
inline void every_partition(
    const StagesProblem& problem,
    const std::function<void(std::span<const std::int32_t>, std::span<const std::int64_t>)>& visit) {
  std::vector<std::int32_t> kinds;
  std::vector<std::int64_t> layers;
  std::vector<std::int32_t> left = problem.nodes;
  const std::function<void(std::int64_t, std::int64_t)> place_layers = [&](std::int64_t stage,
                                                                           std::int64_t rest) {
    if (stage == problem.shape.stages) {
      if (rest == 0) visit(kinds, layers);
      return;
    }
    const std::int64_t most =
        problem.most_layers[problem.place(stage, kinds[static_cast<std::size_t>(stage)])];
    for (std::int64_t l = 0; l <= std::min(rest, most); ++l) {
      layers.push_back(l);
      place_layers(stage + 1, rest - l);
      layers.pop_back();
    }
  };
  const std::function<void()> place_kinds = [&] {
    const std::int64_t stage = std::ssize(kinds);
    if (stage == problem.shape.stages) return place_layers(0, problem.layers);
    for (std::int32_t k = 0; k < std::ssize(problem.kinds); ++k) {
      const PartitionStageKind& kind = problem.kinds[static_cast<std::size_t>(k)];
      bool enough = true;
      for (std::size_t i = 0; i < left.size(); ++i) {
        left[i] -= kind.nodes[i];
        enough = enough && left[i] >= 0;
      }
      const std::int64_t count = std::min(kind.stages_per_block, problem.shape.stages - stage);
      kinds.insert(kinds.end(), static_cast<std::size_t>(count), k);
      if (enough) place_kinds();
      kinds.resize(kinds.size() - static_cast<std::size_t>(count));
      for (std::size_t i = 0; i < left.size(); ++i) left[i] += kind.nodes[i];
    }
  };
  place_kinds();
}

}  // namespace nadi::inline predict
