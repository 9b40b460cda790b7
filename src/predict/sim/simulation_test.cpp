#include "nadi/sim/simulation.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "nadi/base/error.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/sim/cluster_for_tests.h"

namespace nadi::inline predict {
namespace {

StagePrograms small_step(const Plan& plan, std::int64_t layers = 4) {
  return {tiny_model(architecture_named("gpt2"), layers),
          {.kind = StepKind::kTrain, .batch_size = plan.micro_batches, .seq_length = 8},
          plan};
}

TEST(Simulation, OneRankComputesWithoutAGap) {
  const SimulationResult result = simulate_step(small_step({}), cluster_for_tests(1, 1));
  ASSERT_EQ(result.classes.size(), 1u);
  EXPECT_GT(result.iteration_time, Nanoseconds{});
  EXPECT_EQ(result.classes[0].breakdown.computed(), result.iteration_time);
  EXPECT_EQ(result.classes[0].breakdown.bubble, Nanoseconds{});
}

TEST(Simulation, PartsOfTheTimeAddUpOnEveryRank) {
  const Plan plan{.tp = 2, .dp = 2, .pp = 2, .micro_batches = 3};
  const SimulationResult result = simulate_step(small_step(plan), cluster_for_tests(2, 4));
  EXPECT_EQ(result.ranks, 8);
  EXPECT_LT(result.classes.size(), 8u);
  for (const SimulatedClass& one : result.classes) {
    const RankBreakdown& parts = one.breakdown;
    EXPECT_EQ(parts.computed() + parts.exposed() + parts.bubble, result.iteration_time);
  }
}

TEST(Simulation, MergingRanksChangesNothing) {
  const Plan plan{.tp = 2, .dp = 2, .pp = 2, .micro_batches = 3};
  const Cluster cluster = cluster_for_tests(2, 4);
  const SimulationResult merged = simulate_step(small_step(plan), cluster);
  const SimulationResult each = simulate_step(small_step(plan), cluster, {.symmetry = false});
  EXPECT_EQ(each.classes.size(), 8u);
  EXPECT_EQ(merged.iteration_time, each.iteration_time);
  for (std::int32_t r = 0; r < 8; ++r) {
    EXPECT_EQ(merged.class_of(Rank{r}).nodes, each.class_of(Rank{r}).nodes) << "rank " << r;
    EXPECT_EQ(merged.class_of(Rank{r}).breakdown, each.class_of(Rank{r}).breakdown) << "rank " << r;
  }
}

// Nodes of two kinds of devices, in turn.
Cluster mixed_cluster(std::int32_t nodes, std::int32_t devices_per_node) {
  Cluster cluster = cluster_for_tests(nodes, devices_per_node);
  DeviceSpec slower = cluster.devices[0];
  slower.name = "slower";
  slower.memory_bandwidth = ByteRate{0.25e12};
  slower.launch_overhead = Nanoseconds{1700};
  cluster.devices.push_back(slower);
  cluster.kinds.push_back(cluster.kinds[0]);
  cluster.kinds[1].name = "slower node";
  cluster.kinds[1].device = 1;
  for (std::size_t node = 1; node < cluster.nodes.size(); node += 2) cluster.nodes[node] = 1;
  return cluster;
}

TEST(Simulation, MergingRanksOfRandomPlansChangesNothing) {
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t n) { return static_cast<std::int64_t>(random() % n); };
  for (int i = 0; i < 30 && !testing::Test::HasFailure(); ++i) {
    Plan plan{.tp = 1 + below(2), .cp = 1 + below(2), .dp = 1 + below(3), .pp = 1 + below(3)};
    plan.micro_batches = 1 + below(4);
    plan.zero_stage = below(2);
    plan.sequence_parallel = plan.tp > 1 && below(2) == 0;
    if (below(3) == 0) plan.schedule = ScheduleKind::kGPipe;
    if (plan.pp > 1 && below(3) == 0) {
      plan.schedule = ScheduleKind::kInterleaved;
      plan.virtual_stages = 2;
      plan.micro_batches = plan.pp * (1 + below(3));
    }
    SCOPED_TRACE(i);
    SimulationOptions options;
    options.overlap = {.blocking_messages = below(3) == 0,
                       .reduce_after_backward = below(3) == 0,
                       .blocking_collectives = below(4) == 0,
                       .messages_stop_host = below(3) == 0,
                       .scattered_messages = below(3) == 0};
    if (below(2) == 0)
      options.slow = {
          {Rank{static_cast<std::int32_t>(below(static_cast<std::uint32_t>(plan.world_size())))}, 1.5}};
    const Cluster cluster = below(2) == 0 ? mixed_cluster(12, 3) : cluster_for_tests(9, 4);
    const StagePrograms programs = small_step(plan, 6);
    const SimulationResult merged = simulate_step(programs, cluster, options);
    options.symmetry = false;
    const SimulationResult each = simulate_step(programs, cluster, options);
    EXPECT_EQ(merged.iteration_time, each.iteration_time);
    for (std::int32_t r = 0; r < plan.world_size(); ++r) {
      EXPECT_TRUE(merged.class_of(Rank{r}).nodes == each.class_of(Rank{r}).nodes) << "rank " << r;
      EXPECT_TRUE(merged.class_of(Rank{r}).breakdown == each.class_of(Rank{r}).breakdown) << "rank " << r;
    }
    EXPECT_EQ(merged.sources.model, each.sources.model);
    for (std::size_t level = 0; level < merged.traffic.size(); ++level)
      EXPECT_EQ(merged.traffic[level].total, each.traffic[level].total);
  }
}

// All the time of a pass in its first op: forward 1 ms, backward 2 ms, everything else nothing.
void retime_passes(std::int64_t, const Program& program, std::size_t graph, const DeviceSpec&,
                   std::span<OpTime> times) {
  const std::span<const Op> ops = program.graphs[graph].ops();
  bool forward = false, backward = false;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    times[i] = {.time = {}, .source = TimeSource::kGiven};
    if (definition(ops[i].kind).op_class != OpClass::kCompute) continue;
    bool& met = ops[i].phase == Phase::kForward ? forward : backward;
    if (met || ops[i].phase == Phase::kOptimizer) continue;
    met = true;
    times[i].time = Nanoseconds{ops[i].phase == Phase::kForward ? 1'000'000 : 2'000'000};
  }
}

// 1F1B: (m + p - 1) * (forward + backward); of that (p - 1) / (m + p - 1) is bubble. Messages take a
// nanosecond.
TEST(Simulation, APipelineOfKnownTimesTakesWhatTheFormulaSays) {
  Cluster cluster = cluster_for_tests(1, 8);
  cluster.kinds[0].inside.latency = {};
  cluster.kinds[0].inside.bandwidth = ByteRate{1e18};
  for (const std::int64_t stages : {2, 4})
    for (const std::int64_t micro_batches : {1, 4, 9}) {
      const Plan plan{.pp = stages, .micro_batches = micro_batches};
      SimulationOptions options;
      options.retime = retime_passes;
      const SimulationResult result = simulate_step(small_step(plan), cluster, options);
      const std::int64_t expected = (micro_batches + stages - 1) * 3'000'000;
      EXPECT_NEAR(static_cast<double>(result.iteration_time.count()), static_cast<double>(expected), 200)
          << stages << " stages, " << micro_batches << " micro-batches";
      EXPECT_EQ(result.sources.model, 0);
      for (const SimulatedClass& one : result.classes)
        EXPECT_NEAR(to_seconds(one.breakdown.bubble), static_cast<double>(stages - 1) * 3e-3, 1e-6);
    }
}

// Neighbours that meet after a forward and a backward, as Megatron-LM's do, come at the same time:
// interleaved stages take (v * m + p - 1) * (forward + backward) though messages stop them, and with messages
// that take t two times t more, to all neighbours, for each pair: activations and gradients leave through one
// port.
TEST(Simulation, InterleavedStagesThatStopForMessagesMeetWithoutWaiting) {
  for (const std::int64_t stages : {2, 3, 4}) {
    Plan plan{.pp = stages};
    plan.schedule = ScheduleKind::kInterleaved;
    plan.virtual_stages = 2;
    plan.micro_batches = 4 * stages;
    const StagePrograms programs = small_step(plan, 2 * stages);
    SimulationOptions options;
    options.retime = retime_passes;
    options.overlap.blocking_messages = true;
    Cluster cluster = cluster_for_tests(1, 8);
    cluster.kinds[0].inside.latency = {};
    cluster.kinds[0].inside.bandwidth = ByteRate{1e18};
    const std::int64_t pairs = 2 * plan.micro_batches + stages - 1;
    const double at_once = to_seconds(simulate_step(programs, cluster, options).iteration_time);
    EXPECT_NEAR(at_once, static_cast<double>(pairs) * 3e-3, 1e-6) << stages;
    cluster.kinds[0].inside.latency = Nanoseconds{100'000};
    const double delayed = to_seconds(simulate_step(programs, cluster, options).iteration_time);
    EXPECT_NEAR(delayed - at_once, static_cast<double>(4 * plan.micro_batches + 4 * (stages - 1)) * 1e-4,
                1e-6)
        << stages;
  }
}

// Gathers after the update have nothing beside them; before the forward pass, all but those of what it needs first.
TEST(Simulation, ParametersGatheredBeforeTheirUseHideBehindTheForwardPass) {
  const Plan plan{.dp = 2, .zero_stage = 1};
  const Cluster cluster = cluster_for_tests(1, 2);
  StepRequest request{.batch_size = 1, .seq_length = 16};
  request.layout.bucket_elements = 1;  // a gather for each parameter
  std::array<Nanoseconds, 2> times;
  std::array<CommunicationShare, 2> gathers;
  for (const GatherTime when : {GatherTime::kAfterUpdate, GatherTime::kBeforeUse}) {
    request.layout.gathers = when;
    const auto at = static_cast<std::size_t>(when);
    const SimulationResult result =
        simulate_step({tiny_model(architecture_named("gpt2"), 8), request, plan}, cluster, {});
    times[at] = result.iteration_time;
    for (const CommunicationShare& share : result.class_of(Rank{0}).breakdown.communication)
      if (share.op == "bucket_all_gather") gathers[at] = share;
  }
  const auto& [after, before] = gathers;
  EXPECT_EQ(before.count, after.count);
  EXPECT_EQ(before.busy, after.busy);
  EXPECT_GT(after.exposed.count(), after.busy.count() * 9 / 10)
      << "an update of the next bucket runs beside a gather";
  EXPECT_LT(before.exposed, after.exposed);
  EXPECT_EQ(times[0] - times[1], after.exposed - before.exposed);
}

TEST(Simulation, AStragglerHoldsUpItsGroup) {
  const Plan plan{.dp = 4};
  const Cluster cluster = cluster_for_tests(1, 4);
  SimulationOptions options;
  const Nanoseconds even = simulate_step(small_step(plan), cluster, options).iteration_time;
  options.slow = {{Rank{2}, 2.0}};
  const SimulationResult result = simulate_step(small_step(plan), cluster, options);
  EXPECT_EQ(result.classes.size(), 2u);
  EXPECT_GT(result.iteration_time, even);
  EXPECT_GT(result.class_of(Rank{0}).breakdown.bubble, result.class_of(Rank{2}).breakdown.bubble);
  options.slow = {{Rank{4}, 2.0}};
  EXPECT_THROW(simulate_step(small_step(plan), cluster, options), Error);
}

TEST(Simulation, JitterRepeatsWithItsSeed) {
  const Plan plan{.dp = 2};
  const Cluster cluster = cluster_for_tests(1, 2);
  SimulationOptions options;
  options.jitter = {.deviation = 0.1, .seed = 5};
  const Nanoseconds first = simulate_step(small_step(plan), cluster, options).iteration_time;
  EXPECT_EQ(simulate_step(small_step(plan), cluster, options).iteration_time, first);
  options.jitter.seed = 6;
  EXPECT_NE(simulate_step(small_step(plan), cluster, options).iteration_time, first);
}

// One data-parallel group on an idle switch: flows have the links for themselves.
TEST(Simulation, FlowsOnIdleLinksTakeWhatTheClosedFormsSay) {
  const Plan plan{.dp = 4};
  const Cluster cluster = cluster_for_tests(1, 4);
  const SimulationResult closed = simulate_step(small_step(plan), cluster);
  SimulationOptions options;
  options.network = NetworkDetail::kFlow;
  const SimulationResult flow = simulate_step(small_step(plan), cluster, options);
  EXPECT_NEAR(to_seconds(flow.iteration_time), to_seconds(closed.iteration_time),
              1e-3 * to_seconds(closed.iteration_time));
}

TEST(Simulation, MemoryRisesAndFallsWithTheValues) {
  const Plan plan{.pp = 2, .micro_batches = 4};
  const StagePrograms programs = small_step(plan);
  Cluster cluster = cluster_for_tests(1, 2);
  const SimulationResult result = simulate_step(programs, cluster);
  for (const SimulatedClass& one : result.classes) {
    const SimulatedMemory& memory = one.memory;
    EXPECT_GT(memory.peak, memory.resident);
    EXPECT_EQ(memory.over_time.back().used, memory.resident);
    EXPECT_FALSE(memory.exceeded_at);
    Bytes sum;
    for (const MemoryPart& part : memory.at_peak) sum += part.size;
    EXPECT_EQ(sum, memory.peak);
  }
  // In 1F1B the first stage keeps two micro-batches, the last one.
  EXPECT_GT(result.classes[0].memory.peak - result.classes[0].memory.resident, Bytes{});
  cluster.devices[0].memory = result.classes[0].memory.peak - Bytes{1};
  const SimulationResult full = simulate_step(programs, cluster);
  ASSERT_TRUE(full.classes[0].memory.exceeded_at);
  EXPECT_EQ(*full.classes[0].memory.exceeded_at, full.classes[0].memory.peak_at);
}

TEST(Simulation, TooFewDevicesAreInfeasible) {
  try {
    simulate_step(small_step({.dp = 8}), cluster_for_tests(1, 4));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInfeasible);
    EXPECT_STREQ(error.what(), "the plan needs 8 ranks; cluster 'test' has 4 devices");
  }
}

}  // namespace
}  // namespace nadi::inline predict
