#include "nadi/sim/simulated_traces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/chakra/trace_files.h"
#include "nadi/model/tiny_models_for_tests.h"
#include "nadi/sim/cluster_for_tests.h"
#include "nadi/testing/source_folder.h"
#include "nadi/trace/common_attributes.h"
#include "nadi/trace/replay.h"
#include "nadi/unroll/process_groups.h"
#include "nadi/unroll/rank_traces.h"

namespace nadi::inline predict {
namespace {

namespace fs = std::filesystem;

const Plan kPlan{.tp = 2, .dp = 2, .pp = 2, .micro_batches = 3};

StagePrograms programs_of(const Plan& plan) {
  return {tiny_model(architecture_named("gpt2"), 4),
          {.kind = StepKind::kTrain, .batch_size = plan.micro_batches, .seq_length = 8},
          plan};
}

// The traces of all ranks, without a file.
TraceSet traces_in_memory(const StagePrograms& programs) {
  const Plan& plan = programs.plan();
  std::set<GroupKind> kinds;
  for (const Program* program : programs.all()) kinds.merge(collective_groups(*program));
  const ProcessGroups groups(plan, kinds);
  TraceSet set;
  for (std::int32_t r = 0; r < plan.world_size(); ++r) {
    const Rank rank{r};
    Trace trace;
    StepTracer tracer(programs.of(coordinates_of(plan, rank).pp), {.plan = &plan});
    TraceNode node;
    while (tracer.next(node)) {
      add_rank_attributes(node, tracer.binding(), plan, groups, rank);
      trace.add(node);
    }
    set.add(trace, r);
  }
  for (const GroupKind kind : kinds)
    for (std::int32_t r = 0; r < plan.world_size(); ++r) {
      const std::vector<Rank> members = group_members(plan, kind, Rank{r});
      if (members.size() < 2 || std::ranges::find(members, Rank{r}) == members.end()) continue;
      std::vector<std::int64_t> numbers;
      for (const Rank member : members) numbers.push_back(to_number(member));
      set.add_group(std::to_string(groups.number(kind, Rank{r})), numbers);
    }
  return set;
}

TEST(SimulatedTraces, AWrittenTraceGivesWhatItGaveInMemory) {
  const StagePrograms programs = programs_of(kPlan);
  const TemporaryFolder folder;
  write_rank_traces(kPlan, programs.all(), folder.path() / "step", {.tensors = TensorListing::kAll});
  std::vector<fs::path> files;
  for (int r = 0; r < 8; ++r) files.push_back(folder.path() / ("step." + std::to_string(r) + ".et"));
  const Cluster cluster = cluster_for_tests(2, 4);
  const SimulationResult memory = simulate_traces(traces_in_memory(programs), cluster, {});
  const SimulationResult file = simulate_traces(read_trace_set(files), cluster, {});
  EXPECT_EQ(memory.iteration_time, file.iteration_time);
  ASSERT_EQ(memory.classes.size(), file.classes.size());
  for (std::int32_t r = 0; r < 8; ++r) {
    EXPECT_TRUE(memory.class_of(Rank{r}).nodes == file.class_of(Rank{r}).nodes) << r;
    EXPECT_TRUE(memory.class_of(Rank{r}).breakdown == file.class_of(Rank{r}).breakdown) << r;
  }
}

// The device of the test is bound by bytes and launches at this size, which a trace holds as the program
// does.
TEST(SimulatedTraces, ADryTraceTakesWhatItsProgramTakes) {
  const StagePrograms programs = programs_of(kPlan);
  const Cluster cluster = cluster_for_tests(2, 4);
  const SimulationResult step = simulate_step(programs, cluster);
  const SimulationResult traces = simulate_traces(traces_in_memory(programs), cluster, {});
  EXPECT_EQ(step.iteration_time, traces.iteration_time);
  EXPECT_EQ(step.nodes, traces.nodes);
  EXPECT_EQ(traces.sources.unknown, 0);
  for (std::int32_t r = 0; r < 8; ++r)
    EXPECT_TRUE(step.class_of(Rank{r}).nodes == traces.class_of(Rank{r}).nodes) << r;
}

Trace recorded_on_one_rank() {
  Trace trace;
  TraceNode node;
  node.id = TraceNodeId{1};
  node.name = "kernel";
  node.type = NodeType::kComp;
  node.start = Nanoseconds{100};
  node.duration = Nanoseconds{3000};
  trace.add(node);
  node.clear();
  node.id = TraceNodeId{2};
  node.name = "reduction";
  node.type = NodeType::kCommColl;
  node.start = Nanoseconds{3100};
  node.duration = Nanoseconds{500};
  node.data_deps.push_back(TraceNodeId{1});
  add_comm_type(node, CollectiveType::kAllReduce);
  add_comm_size(node, Bytes{8000});
  trace.add(node);
  return trace;
}

TEST(SimulatedTraces, RecordedTimesAreKept) {
  TraceSet set;
  set.add(recorded_on_one_rank(), 0);
  const SimulationResult result = simulate_traces(set, cluster_for_tests(1, 4), {});
  EXPECT_EQ(result.iteration_time, Nanoseconds{3500});
  EXPECT_EQ(result.sources.recorded, 1);
}

// A ring of four: 6 steps of 2000 bytes, each 2 us and 2000 B / (100 GB/s) = 20 ns; 12.12 us behind 3 us.
TEST(SimulatedTraces, MoreRanksRunADataParallelTrace) {
  TraceSet set;
  set.add(recorded_on_one_rank(), 0);
  SimulationOptions options;
  options.collective = CollectiveAlgorithm::kRing;
  const SimulationResult result = simulate_traces(set, cluster_for_tests(1, 4), options, {.ranks = 4});
  EXPECT_EQ(result.ranks, 4);
  ASSERT_EQ(result.classes.size(), 1u);
  EXPECT_EQ(result.iteration_time, Nanoseconds{3000 + 6 * 2020});
}

// Neither shapes nor counts: twice the bandwidth takes half of the time.
TEST(SimulatedTraces, OpsOfUnknownWorkAreScaledByTheDevices) {
  TraceSet set;
  set.add(recorded_on_one_rank(), 0);
  DeviceSpec slow = device_for_tests();
  slow.memory_bandwidth = ByteRate{0.5e12};
  const SimulationResult result = simulate_traces(
      set, cluster_for_tests(1, 4), {}, {.durations = TraceDurations::kModel, .recorded_on = &slow});
  EXPECT_EQ(result.sources.scaled, 1);
  EXPECT_EQ(result.classes[0].nodes[0].end, Nanoseconds{1500});
}

TEST(SimulatedTraces, ReplaysTheExamplesOfAstraSim) {
  const fs::path data = shared_data() / "chakra";
  if (!fs::exists(data)) GTEST_SKIP() << data << " is not there";
  for (const auto& [folder, ranks] :
       {std::pair{"all_reduce_8npus_1MB", 8}, std::pair{"all_gather_4npus_1MB", 4}}) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(data / folder))
      if (entry.path().extension() == ".et") files.push_back(entry.path());
    std::ranges::sort(files);
    ASSERT_EQ(files.size(), static_cast<std::size_t>(ranks));
    const SimulationResult result = simulate_traces(read_trace_set(files), cluster_for_tests(1, 8), {});
    EXPECT_EQ(result.ranks, ranks);
    EXPECT_GT(result.iteration_time, Nanoseconds{});
    EXPECT_EQ(result.sources.unknown, 0);
  }
}

// An early converter of others wrote nodes that wait for each other: no order of them can be simulated.
TEST(SimulatedTraces, RefusesNodesThatWaitForEachOther) {
  const fs::path file = shared_data() / "chakra" / "pytorch_converter_2023.0.et";
  if (!fs::exists(file)) GTEST_SKIP() << file << " is not there";
  try {
    read_trace_set({file}, {.lenient = true});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_NE(std::string(error.what()).find("wait for each other in a cycle"), std::string::npos);
  }
}

// A profile of one GPU: with its recorded times it takes what it took; and it runs on other devices.
TEST(SimulatedTraces, ReplaysProfilesOfPytorch) {
  const fs::path device = shared_data() / "traces" / "gpt2_b4_t512_device.json.gz";
  const fs::path host = shared_data() / "traces" / "gpt2_b4_t512_host.json.gz";
  if (!fs::exists(device)) GTEST_SKIP() << device << " is not there";
  const TraceSet set = read_trace_set({device, host});
  const Cluster cluster = cluster_for_tests(1, 8);
  const SimulationResult recorded = simulate_traces(set, cluster, {});
  Nanoseconds span;
  read_run({device, host}, {}, [&](const ReadRank& read) { span = recorded_span(read.trace); });
  EXPECT_NEAR(to_seconds(recorded.iteration_time), to_seconds(span), 0.02 * to_seconds(span));
  const SimulationResult modelled =
      simulate_traces(set, cluster, {}, {.durations = TraceDurations::kModel, .ranks = 8});
  EXPECT_EQ(modelled.ranks, 8);
  EXPECT_GT(modelled.sources.model, 0);
  const RankBreakdown& parts = modelled.classes[0].breakdown;
  EXPECT_EQ(parts.computed() + parts.exposed() + parts.host + parts.bubble, modelled.iteration_time);
}

}  // namespace
}  // namespace nadi::inline predict
