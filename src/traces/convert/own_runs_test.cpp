// Profiles that Nadi writes of its own runs, converted, against the trace of the same run.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "nadi/convert/profile_for_tests.h"
#include "nadi/recording/execution.h"
#include "nadi/recording/execution_for_tests.h"
#include "nadi/recording/gpu_step_for_tests.h"
#include "nadi/recording/kineto_writer.h"

namespace nadi::inline traces {
namespace {

std::string kineto_of(const Program& program, std::span<const ExecutedStep> steps,
                      const KinetoOptions& options) {
  std::string text;
  write_kineto(program, steps, options, [&](std::string_view part) { text += part; });
  return text;
}

std::shared_ptr<const KinetoTrace> read_text(const std::string& text) {
  return std::make_shared<const KinetoTrace>(read_kineto(text, "run.json"));
}

// Same names, types, times, sizes, groups and origin, node by node in the order of start.
void expect_same(const Trace& converted, const Trace& run) {
  ASSERT_EQ(converted.size(), run.size());
  const Nanoseconds shift = converted.start(0) - run.start(0);
  for (std::size_t row = 0; row < run.size(); ++row) {
    SCOPED_TRACE(std::string(run.name(row)));
    EXPECT_EQ(converted.name(row), run.name(row));
    EXPECT_EQ(converted.type(row), run.type(row));
    EXPECT_EQ(converted.start(row) - shift, run.start(row));
    EXPECT_EQ(converted.duration(row), run.duration(row));
    for (const std::string_view name :
         {"is_cpu_op", "num_ops", "tensor_size", "comm_type", "comm_size", "comm_src", "comm_dst", "comm_tag",
          "pg_name", "op", "layer", "phase", "section", "micro_batch", "step"}) {
      SCOPED_TRACE(std::string(name));
      EXPECT_EQ(converted.find_attribute(row, name), run.find_attribute(row, name));
    }
  }
}

TEST(OwnRuns, GiveTheTraceOfTheRun) {
  const Program program = program_for_tests();
  const std::array steps{execute_for_tests(program, 3, Nanoseconds{1000}),
                         execute_for_tests(program, 4, Nanoseconds{50'000})};
  const Converted converted({.kineto = read_text(kineto_of(program, steps, {}))});
  expect_same(converted.nodes, trace_execution(program, steps).trace);
  // Annotations of steps, phases and layers.
  EXPECT_GT(converted.report().dropped[static_cast<std::size_t>(KinetoCategory::kUserAnnotation)], 0);
  EXPECT_EQ(converted.report().gaps, 0);
}

TEST(OwnRuns, WithTheirCommunication) {
  const Plan plan = communicating_plan_for_tests();
  const Program program = communicating_program_for_tests();
  const ExecutedStep step = execute_for_tests(program, 0, Nanoseconds{1000});
  constexpr Rank kRank{3};
  const Converted converted({.kineto = read_text(kineto_of(program, std::span(&step, 1),
                                                           {.process = 3, .plan = &plan, .rank = kRank})),
                             .rank = 3});
  expect_same(converted.nodes,
              trace_execution(program, std::span(&step, 1), {.plan = &plan, .rank = kRank}).trace);
  EXPECT_EQ(converted.report().collectives, 1);
  EXPECT_EQ(converted.report().sends, 1);
  EXPECT_EQ(converted.report().receives, 1);
}

TEST(OwnRuns, CommunicationInTheBackgroundDoesNotHoldUpComputation) {
  const Plan plan = communicating_plan_for_tests();
  const Program program = communicating_program_for_tests();
  const ExecutedStep step = execute_overlapped_for_tests(program, 0, Nanoseconds{});
  const Converted converted({.kineto = read_text(kineto_of(program, std::span(&step, 1), {.plan = &plan}))});
  const Replay replay = replay_trace(converted.nodes, TraceDependencies(converted.nodes));
  for (std::size_t row = 0; row < converted.nodes.size(); ++row) {
    if (converted.nodes.type(row) != NodeType::kComp) continue;
    // What passed between two ops is not in the trace, and is all that is missing.
    EXPECT_LE(replay.starts[row], converted.nodes.start(row) - converted.nodes.start(0));
  }
  EXPECT_LT(replay.span, kTransferForTests * 2);
}

// A record as an engine for GPUs makes it: computation on stream 7, communication on stream 13 of device 2.
// It reads as PyTorch's profile of such a run does.
TEST(OwnRuns, KernelsOfADeviceAreReadAsThoseOfItsStreams) {
  const Plan plan = communicating_plan_for_tests();
  const Program program = communicating_program_for_tests();
  ExecutedStep step = execute_overlapped_for_tests(program, 4, Nanoseconds{1000});
  step.device = {.kind = ExecutedDevice::Kind::kCuda, .number = 2, .name = "NVIDIA H200"};
  Nanoseconds free;
  for (ExecutedKernel& kernel : step.kernels) {
    kernel.stream = StreamId{kernel.stream == kComputeStream ? 7U : 13U};
    if (kernel.stream != StreamId{13}) continue;
    kernel.start = std::max(kernel.start, free + kGapForTests);
    kernel.end = free = kernel.start + kTransferForTests;
    step.end = std::max(step.end, free + kGapForTests);
  }
  constexpr Rank kRank{2};
  const std::string text = kineto_of(program, std::span(&step, 1), {.plan = &plan, .rank = kRank});
  EXPECT_THAT(text, testing::HasSubstr(R"("deviceProperties": [{"id": 2, "name": "NVIDIA H200"}])"));
  EXPECT_THAT(text, testing::HasSubstr(R"("backend_config": "cuda:nccl")"));
  EXPECT_THAT(text, testing::HasSubstr(R"("pid": 2, "tid": 0, "args": {"labels": "GPU 2"})"));
  EXPECT_THAT(text, testing::HasSubstr(R"("pid": 2, "tid": 13, "args": {"name": "stream 13"})"));

  const auto kineto = read_text(text);
  std::map<std::pair<std::int64_t, std::int64_t>, int> kernels;  // by process and thread
  for (std::size_t row = 0; row < kineto->events.size(); ++row) {
    const KinetoLane& lane = kineto->lanes[kineto->lane[row]];
    if (kineto->category[row] == KinetoCategory::kKernel) ++kernels[{lane.process, lane.thread}];
    EXPECT_NE(kineto->category[row], KinetoCategory::kCpuOp);
    EXPECT_EQ(lane.device, lane.process == 2);
  }
  EXPECT_THAT(kernels,
              testing::ElementsAre(testing::Pair(std::pair{2, 7}, 2), testing::Pair(std::pair{2, 13}, 3)));

  const Converted converted({.kineto = kineto, .rank = to_number(kRank)});
  const Trace run = trace_execution(program, std::span(&step, 1), {.plan = &plan, .rank = kRank}).trace;
  // Without launches, what passes before the first kernel of a stream is a gap of the host.
  std::vector<std::size_t> kernel_rows;
  for (std::size_t row = 0; row < converted.nodes.size(); ++row)
    if (converted.nodes.find_attribute(row, "category")->string() == "kernel") kernel_rows.push_back(row);
  ASSERT_EQ(kernel_rows.size(), run.size());
  // Converted nodes are in the order of their starts, those of the run in that of their record.
  std::vector<std::size_t> by_start(run.size());
  std::iota(by_start.begin(), by_start.end(), std::size_t{0});
  std::ranges::sort(by_start, {}, [&](std::size_t i) { return run.start(i); });
  const Nanoseconds shift = converted.nodes.start(kernel_rows[0]) - run.start(by_start[0]);
  for (std::size_t number = 0; number < run.size(); ++number) {
    const std::size_t i = by_start[number], row = kernel_rows[number];
    SCOPED_TRACE(std::string(run.name(i)));
    EXPECT_EQ(converted.nodes.type(row), run.type(i));
    EXPECT_EQ(converted.nodes.start(row) - shift, run.start(i));
    EXPECT_EQ(converted.nodes.duration(row), run.duration(i));
    for (const std::string_view name :
         {"stream", "device", "is_cpu_op", "comm_type", "comm_size", "comm_src", "comm_dst", "pg_name"}) {
      SCOPED_TRACE(std::string(name));
      EXPECT_EQ(converted.nodes.find_attribute(row, name), run.find_attribute(i, name));
    }
  }
  EXPECT_EQ(converted.report().collectives, 1);
  EXPECT_EQ(converted.report().sends, 1);
  EXPECT_EQ(converted.report().receives, 1);
}

// With what CUPTI reports: each kernel on the GPU is a node that waits for the launch of the graph.
TEST(OwnRuns, KernelsOfACapturedGraphFollowItsLaunch) {
  const Program program = program_for_tests();
  const ExecutedStep step = gpu_step_for_tests(program, 4, Nanoseconds{1000});
  const Converted converted({.kineto = read_text(kineto_of(program, std::span(&step, 1), {.process = 402}))});
  EXPECT_EQ(converted.report().by_correlation, 5);
  EXPECT_EQ(converted.report().without_launch, 1);  // the copy's is not in the record
  const Trace& nodes = converted.nodes;
  std::map<std::string, TraceNodeId> ids;
  for (std::size_t row = 0; row < nodes.size(); ++row) ids[std::string(nodes.name(row))] = nodes.id(row);
  int kernels = 0;
  for (std::size_t row = 0; row < nodes.size(); ++row) {
    if (nodes.find_attribute(row, "category")->string() != "kernel") continue;
    const auto deps = nodes.data_deps(row);
    EXPECT_NE(std::ranges::find(deps, ids.at("cudaGraphLaunch")), deps.end());
    EXPECT_EQ(nodes.find_attribute(row, "step")->integer(), 4);
    EXPECT_EQ(nodes.find_attribute(row, "phase")->string(), "forward");
    ++kernels;
  }
  EXPECT_EQ(kernels, 5);
  EXPECT_EQ(converted.text("nvjet_sm90_tst", "op"), "matmul");
  EXPECT_EQ(converted.text("nvjet_sm90_tst", "op_name"), "model.h.0.attn.matmul");
  EXPECT_EQ(converted.text("nvjet_sm90_tst", "layer"), "model.h.0.attn");
  EXPECT_EQ(converted.number("nvjet_sm90_tst", "num_ops"), 2 * 4 * 8 * 8);
}

TEST(OwnRuns, AProfileOfManyProcessesHoldsAsManyRanks) {
  Profile profile;
  profile.member("distributedInfo", R"({"backend": "mpi", "world_size": 2})");
  for (const int rank : {1, 0})
    profile.event(
        "cpu_op", "matmul", rank, rank, {.start = 10 * rank, .length = 5},
        format(R"("flops": 4, "bytes": 8, "op": "rank {}", "layer": "h", "phase": "forward")", rank));
  const auto kineto = read(profile);
  const std::vector<ProfiledRank> ranks = profiled_ranks(*kineto);
  ASSERT_EQ(ranks.size(), 2);
  for (const std::int64_t rank : {0, 1}) {
    EXPECT_EQ(ranks[static_cast<std::size_t>(rank)].rank, rank);
    const Converted converted({.kineto = kineto, .process = ranks[static_cast<std::size_t>(rank)].process});
    ASSERT_EQ(converted.nodes.size(), 1);
    EXPECT_EQ(converted.nodes.name(0), format("rank {}", rank));
    EXPECT_EQ(converted.number(format("rank {}", rank), "num_ops"), 4);
    EXPECT_EQ(converted.number(format("rank {}", rank), "tensor_size"), 8);
    EXPECT_EQ(converted.text(format("rank {}", rank), "op"), "matmul");
  }
}

// Processes have the numbers of the operating system, and say their rank by name.
TEST(OwnRuns, AProfileOfManyProcessesHasTheirRanksInTheirNames) {
  Profile profile;
  for (const auto& [process, rank] : {std::pair{4711, 1}, std::pair{4712, 0}}) {
    profile.name_process(process, format("nadi rank {}", rank));
    profile.event("cpu_op", "matmul", process, process, {.start = 10, .length = 5}, R"("op": "a")");
  }
  const std::vector<ProfiledRank> ranks = profiled_ranks(*read(profile));
  ASSERT_EQ(ranks.size(), 2);
  EXPECT_EQ(ranks[0].rank, 0);
  EXPECT_EQ(ranks[0].process, 4712);
  EXPECT_EQ(ranks[1].rank, 1);
  EXPECT_EQ(ranks[1].process, 4711);
}

TEST(OwnRuns, AProfileOfOneProcessSaysWhichRankItIs) {
  Profile profile;
  profile.member("distributedInfo", R"({"backend": "nccl", "rank": 5, "world_size": 8})");
  profile.op("aten::mm", {.start = 0, .length = 5});
  const std::vector<ProfiledRank> ranks = profiled_ranks(*read(profile));
  ASSERT_EQ(ranks.size(), 1);
  EXPECT_EQ(ranks[0].rank, 5);
  EXPECT_EQ(ranks[0].process, std::nullopt);
}

}  // namespace
}  // namespace nadi::inline traces
