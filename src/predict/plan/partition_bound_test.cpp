#include "nadi/plan/partition_bound.h"

#include <gtest/gtest.h>

#include "nadi/plan/partition_for_tests.h"
#include "nadi/plan/pipeline_latency.h"

namespace nadi::inline predict {
namespace {

std::int64_t bound_of_pipeline(const StagesProblem& problem, std::span<const std::int32_t> kinds,
                               std::span<const std::int64_t> layers) {
  const std::vector<PartitionSend> sends = sends_of(problem, kinds);
  const std::int64_t last = problem.shape.stages - 1;
  const auto cost = [&](std::int64_t s) {
    return problem.cost(s, kinds[static_cast<std::size_t>(s)], layers[static_cast<std::size_t>(s)]);
  };
  PathBound bound = last_stage(problem.shape, cost(last));
  for (std::int64_t s = last - 1; s >= 0; --s)
    bound = with_stage_before(problem.shape, bound, cost(s), sends[static_cast<std::size_t>(s)], s);
  return bound.total();
}

TEST(PartitionBound, IsNeverAboveTheLatency) {
  std::mt19937 random(1);
  std::int64_t pipelines = 0, equal = 0;
  for (int i = 0; i < 3000; ++i) {
    const StagesProblem problem = random_partition_problem(
        random, {.most_stages = 5, .most_layers = 4, .most_micro_batches = 14, .most_kinds = 2});
    every_partition(problem, [&](std::span<const std::int32_t> kinds, std::span<const std::int64_t> layers) {
      const std::int64_t latency = reference_of(problem, kinds, layers);
      const std::int64_t bound = bound_of_pipeline(problem, kinds, layers);
      ASSERT_LE(bound, latency) << "problem " << i;
      ++pipelines;
      equal += bound == latency;
    });
  }
  EXPECT_GT(pipelines, 10'000);
  EXPECT_GT(equal, pipelines / 3) << "of " << pipelines;
}

// The last stage and the message decide where all stages are alike.
TEST(PartitionBound, OfEqualStagesIsTheirLatency) {
  for (const ScheduleKind schedule : {ScheduleKind::k1F1B, ScheduleKind::kGPipe})
    for (const std::int64_t send : {0, 7, 40})
      for (const std::int64_t micro_batches : {1, 3, 8, 21}) {
        const PipelineShape shape{.schedule = schedule, .stages = 4, .micro_batches = micro_batches};
        const PartitionCosts costs{.forward = 10, .backward = 20, .forward_after = 10, .backward_after = 20};
        PathBound bound = last_stage(shape, costs);
        for (std::int64_t s = 2; s >= 0; --s) bound = with_stage_before(shape, bound, costs, {send, send}, s);
        const std::int64_t latency = reference_latency(shape, std::vector<PartitionCosts>(4, costs),
                                                       std::vector<PartitionSend>(3, {send, send}));
        EXPECT_LE(bound.total(), latency);
        if (send == 0) {
          EXPECT_EQ(bound.total(), latency) << micro_batches;
          EXPECT_EQ(latency, (micro_batches + 3) * 30);
        } else {
          EXPECT_GE(static_cast<double>(bound.total()), 0.98 * static_cast<double>(latency)) << micro_batches;
        }
      }
}

// Chunks of an interleaved pipeline with any times, some of them empty.
struct RandomChunks {
  PipelineShape shape;
  std::vector<PassTimes> forward = {}, backward = {};
  std::vector<Nanoseconds> activations = {}, gradients = {};
};
RandomChunks random_chunks(std::mt19937& random) {
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  RandomChunks chunks;
  PipelineShape& shape = chunks.shape;
  shape = {.schedule = ScheduleKind::kInterleaved, .stages = draw(2, 5), .virtual_stages = draw(2, 4)};
  shape.micro_batches = shape.stages * draw(1, 5);
  const std::int64_t slow_send = draw(0, 2) == 0 ? 300 : 20, least = draw(0, 2) == 0 ? 60 : 0;
  const bool recomputes = draw(0, 1) == 0;
  const auto pass = [&](bool empty) {
    const Nanoseconds run{empty ? 0 : draw(least, 100)};
    return PassTimes{
        .run = run, .after_input = recomputes ? Nanoseconds{draw(0, run.count())} : run, .empty = empty};
  };
  for (std::int64_t s = 0; s + 1 < shape.stages; ++s) {
    chunks.activations.push_back(Nanoseconds{draw(0, slow_send)});
    chunks.gradients.push_back(Nanoseconds{draw(0, slow_send)});
  }
  chunks.activations.push_back({});  // from the last stage to the first
  chunks.gradients.push_back({});
  const std::int64_t count = shape.stages * shape.virtual_stages;
  for (std::int64_t c = 0; c < count; ++c) {
    // The first chunk of a stage is empty only where all of them are; the model's ends never are.
    const std::int64_t s = c % shape.stages;
    const bool empty =
        c > 0 && c + 1 < count &&
        (c < shape.stages ? draw(0, 9) == 0
                          : chunks.forward[static_cast<std::size_t>(s)].empty || draw(0, 4) == 0);
    chunks.forward.push_back(pass(empty));
    chunks.backward.push_back(pass(empty));
    if (c + 1 >= shape.stages && c + 1 < count) {
      chunks.activations.push_back(chunks.activations[static_cast<std::size_t>((c + 1) % shape.stages)]);
      chunks.gradients.push_back(chunks.gradients[static_cast<std::size_t>((c + 1) % shape.stages)]);
    }
  }
  return chunks;
}

std::int64_t latency_of(const RandomChunks& chunks) {
  PipelineLatency latency;
  const PipelineLatency::Ends ends = latency.of({.schedule = chunks.shape.schedule,
                                                 .stages = chunks.shape.stages,
                                                 .virtual_stages = chunks.shape.virtual_stages,
                                                 .micro_batches = chunks.shape.micro_batches,
                                                 .forward = chunks.forward,
                                                 .backward = chunks.backward,
                                                 .activations = chunks.activations,
                                                 .gradients = chunks.gradients});
  return std::ranges::max(ends.backward);
}

std::int64_t bound_of_chunks(const RandomChunks& chunks) {
  const auto costs_of = [&](std::int64_t stage) {
    PartitionCosts costs;
    for (std::int64_t c = stage; c < std::ssize(chunks.forward); c += chunks.shape.stages) {
      const PassTimes &forward = chunks.forward[static_cast<std::size_t>(c)],
                      &backward = chunks.backward[static_cast<std::size_t>(c)];
      costs.add_chunk({.forward = forward.run.count(),
                       .backward = backward.run.count(),
                       .forward_after = forward.after_input.count(),
                       .backward_after = backward.after_input.count(),
                       .empty = forward.empty});
    }
    return costs;
  };
  PathBound bound = last_stage(chunks.shape, costs_of(chunks.shape.stages - 1));
  for (std::int64_t s = chunks.shape.stages - 2; s >= 0; --s) {
    const auto at = static_cast<std::size_t>(s);
    bound = with_stage_before(chunks.shape, bound, costs_of(s),
                              {chunks.activations[at].count(), chunks.gradients[at].count()}, s);
  }
  return bound.total();
}

TEST(PartitionBound, OfInterleavedChunksIsNeverAboveTheLatency) {
  std::mt19937 random(3);
  double sum = 0;
  constexpr int kPipelines = 4000;
  for (int i = 0; i < kPipelines; ++i) {
    const RandomChunks chunks = random_chunks(random);
    const std::int64_t latency = latency_of(chunks), bound = bound_of_chunks(chunks);
    ASSERT_LE(bound, latency) << "pipeline " << i;
    sum += static_cast<double>(bound) / static_cast<double>(latency);
  }
  EXPECT_GT(sum / kPipelines, 0.7);
}

TEST(PartitionBound, OfEqualInterleavedChunksIsTheirLatency) {
  for (const std::int64_t groups : {1, 2, 3, 6})
    for (const std::int64_t virtual_stages : {2, 3}) {
      RandomChunks chunks{.shape = {.schedule = ScheduleKind::kInterleaved,
                                    .stages = 4,
                                    .micro_batches = 4 * groups,
                                    .virtual_stages = virtual_stages}};
      const auto count = static_cast<std::size_t>(4 * virtual_stages);
      chunks.forward.assign(count, {.run = Nanoseconds{10}, .after_input = Nanoseconds{10}});
      chunks.backward.assign(count, {.run = Nanoseconds{20}, .after_input = Nanoseconds{20}});
      chunks.activations = chunks.gradients = std::vector<Nanoseconds>(count - 1);
      EXPECT_EQ(bound_of_chunks(chunks), latency_of(chunks));
      EXPECT_EQ(latency_of(chunks), (4 * groups * virtual_stages + 3) * 30);
    }
}

}  // namespace
}  // namespace nadi::inline predict
