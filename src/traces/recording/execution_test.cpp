#include "nadi/recording/execution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>

#include "nadi/chakra/chakra_reader.h"
#include "nadi/chakra/chakra_writer.h"
#include "nadi/model/catalogue.h"
#include "nadi/parallel/step_program.h"
#include "nadi/recording/execution_for_tests.h"
#include "nadi/recording/gpu_step_for_tests.h"
#include "nadi/trace/trace_check.h"
#include "nadi/unroll/process_groups.h"

namespace nadi::inline traces {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Program training_step() {
  return build_step(*find_built_in_model("gpt2"), {.batch_size = 4, .seq_length = 16}, {.micro_batches = 2});
}

// Why the trace of the step is not that of the program; "" when it is.
std::string difference(const Program& program, const ExecutedStep& step) {
  return compare_with_dry_trace(trace_execution(program, std::span(&step, 1)).trace, trace_step(program))
      .value_or("");
}

TEST(Execution, ARunThatFollowsItsProgramHasTheProgramsTrace) {
  const Program program = training_step();
  const ExecutedStep step = execute_for_tests(program, 7, Nanoseconds{1'000'000});
  const ExecutionTrace run = trace_execution(program, std::span(&step, 1));
  EXPECT_EQ(run.dropped_dependencies, 0u);
  EXPECT_EQ(compare_with_dry_trace(run.trace, trace_step(program)), std::nullopt);
  // The second call starts after two gaps and one call: 1000000 + 2 * 250 + 1500 ns.
  EXPECT_EQ(run.trace.start(1), Nanoseconds{1'002'000});
  EXPECT_EQ(run.trace.duration(1), Nanoseconds{1500});
  // What a run adds stands behind all else.
  const std::size_t count = run.trace.attribute_count(1);
  const TraceAttribute number = run.trace.attribute(1, count - 2), thread = run.trace.attribute(1, count - 1);
  EXPECT_EQ(number.name, "step");
  EXPECT_EQ(number.kind, TraceAttributeKind::kInt64);
  EXPECT_EQ(number.integer(), 7);
  EXPECT_EQ(thread.name, "thread");
}

TEST(Execution, OfARankOfAPlanIsBoundToTheRank) {
  const Plan plan{.tp = 2, .dp = 2, .pp = 2, .micro_batches = 2};
  const Rank rank{6};  // stage 1, data-parallel place 1, tensor-parallel place 0
  const Program program =
      build_step(*find_built_in_model("gpt2"), {.batch_size = 2, .seq_length = 16}, plan, 1);
  const ExecutedStep step = execute_for_tests(program, 0, Nanoseconds{});
  const Trace run = trace_execution(program, std::span(&step, 1), {.plan = &plan, .rank = rank}).trace;

  Trace dry;
  StepTracer tracer(program, {.plan = &plan});
  const ProcessGroups groups(plan, collective_groups(program));
  TraceNode node;
  while (tracer.next(node)) {
    add_rank_attributes(node, tracer.binding(), plan, groups, rank);
    dry.add(node);
  }
  EXPECT_EQ(compare_with_dry_trace(run, dry), std::nullopt);
  bool received = false;
  for (std::size_t row = 0; row < run.size(); ++row)
    if (run.type(row) == NodeType::kCommRecv) {
      // The stage before ends two times two ranks earlier.
      EXPECT_EQ(run.find_attribute(row, "comm_src")->integer(), 2);
      EXPECT_EQ(run.find_attribute(row, "comm_dst")->integer(), 6);
      received = true;
    }
  EXPECT_TRUE(received);
}

TEST(Execution, AMissingCallIsSeenAndItsDependenciesCounted) {
  const Program program = program_for_tests();
  ExecutedStep step = execute_for_tests(program, 0, Nanoseconds{});
  step.kernels.erase(step.kernels.begin() + 1);
  EXPECT_EQ(difference(program, step),
            "node 1: 'model.h.0.mlp.add' ran where the program has 'model.h.0.attn.add'");
  const ExecutionTrace run = trace_execution(program, std::span(&step, 1));
  ASSERT_EQ(run.trace.size(), 3u);
  EXPECT_EQ(run.dropped_dependencies, 1u);
  EXPECT_THAT(run.trace.data_deps(1), IsEmpty());
  EXPECT_THAT(run.trace.data_deps(2), ElementsAre(TraceNodeId{1}));
  check_trace(run.trace);

  step = execute_for_tests(program, 0, Nanoseconds{});
  step.kernels.pop_back();
  EXPECT_EQ(difference(program, step), "the run ended after 3 of 4 nodes, before 'head.add'");
}

TEST(Execution, ACallInAnotherOrderIsSeen) {
  const Program program = program_for_tests();
  ExecutedStep step = execute_for_tests(program, 0, Nanoseconds{});
  std::swap(step.kernels[2].op, step.kernels[3].op);
  EXPECT_EQ(difference(program, step), "node 2: 'head.add' ran where the program has 'model.h.0.mlp.add'");
  // It ran before what it depends on, so that dependency did not hold.
  EXPECT_EQ(trace_execution(program, std::span(&step, 1)).dropped_dependencies, 1u);
}

TEST(Execution, ARepeatedCallIsSeenAndOthersDependOnTheLatest) {
  const Program program = program_for_tests();
  ExecutedStep step = execute_for_tests(program, 0, Nanoseconds{});
  step.kernels.insert(step.kernels.begin() + 1, step.kernels[0]);
  EXPECT_EQ(difference(program, step),
            "node 1: 'model.h.0.attn.matmul' ran where the program has 'model.h.0.attn.add'");
  const ExecutionTrace run = trace_execution(program, std::span(&step, 1));
  EXPECT_EQ(run.dropped_dependencies, 0u);
  EXPECT_THAT(run.trace.data_deps(2), ElementsAre(TraceNodeId{1}));

  step = execute_for_tests(program, 0, Nanoseconds{});
  step.kernels.push_back(step.kernels.back());
  EXPECT_EQ(difference(program, step), "the run has 5 nodes, the program 4; the first beyond is 'head.add'");
}

// Two micro-batches call the same kernels, so that only the instruction tells their calls apart.
TEST(Execution, ACallForTheWrongMicroBatchIsSeen) {
  Program program = program_for_tests();
  program.instructions.push_back({.section = SectionId{0}, .micro_batch = 1});
  ExecutedStep step = execute_for_tests(program, 0, Nanoseconds{});
  EXPECT_EQ(difference(program, step), "");
  step.kernels[3].instruction = 1;
  EXPECT_THAT(difference(program, step),
              HasSubstr("node 3 ('head.add') has the data dependencies [] in the place of [2]"));
}

TEST(Execution, TheNextStepReadsWhatTheLastHasWritten) {
  const Program program = training_step();
  const std::array steps{execute_for_tests(program, 0, Nanoseconds{}),
                         execute_for_tests(program, 1, Nanoseconds{1'000'000'000}),
                         execute_for_tests(program, 2, Nanoseconds{2'000'000'000})};
  const ExecutionTrace run = trace_execution(program, steps);
  check_trace(run.trace);
  EXPECT_EQ(run.dropped_dependencies, 0u);
  const std::size_t size = steps[0].kernels.size();
  ASSERT_EQ(run.trace.size(), 3 * size);

  std::size_t lookup = 0, update = 0;
  for (std::size_t row = 0; row < size; ++row) {
    if (run.trace.name(row) == "transformer.wpe.embedding" && lookup == 0) lookup = row;
    if (run.trace.name(row) == "transformer.wpe.adamw") update = row;
  }
  EXPECT_THAT(run.trace.data_deps(lookup), testing::Not(testing::Contains(run.trace.id(update))));
  EXPECT_THAT(run.trace.data_deps(size + lookup), testing::Contains(run.trace.id(update)));
  EXPECT_EQ(run.trace.find_attribute(2 * size, "step")->integer(), 2);
  // What the third makes of the second is what the second made of the first.
  for (std::size_t row = size; row < 2 * size; ++row) {
    const auto earlier = run.trace.data_deps(row), later = run.trace.data_deps(row + size);
    ASSERT_EQ(earlier.size(), later.size());
    for (std::size_t i = 0; i < earlier.size(); ++i)
      ASSERT_EQ(to_number(earlier[i]) + size, to_number(later[i])) << run.trace.name(row);
  }
}

TEST(Execution, TimesSurviveAChakraFile) {
  const Program program = program_for_tests();
  const ExecutedStep step = execute_for_tests(program, 3, Nanoseconds{123'456'789});
  const Trace trace = trace_execution(program, std::span(&step, 1)).trace;
  std::string bytes;
  write_chakra(trace, [&](std::string_view part) { bytes += part; });
  const Trace back = read_chakra(std::as_bytes(std::span(bytes)), "memory");
  for (std::size_t row = 0; row < trace.size(); ++row) {
    EXPECT_EQ(back.start(row), step.kernels[row].start);
    EXPECT_EQ(back.duration(row), kCallForTests);
  }
}

TEST(Execution, WithoutStepsIsAnEmptyTrace) {
  EXPECT_EQ(trace_execution(program_for_tests(), {}).trace.size(), 0u);
}

TEST(ExecutionDeathTest, ARecordOfAnOpThatTheInstructionDoesNotHaveIsABug) {
  const Program program = program_for_tests();
  ExecutedStep step{.kernels = {{.instruction = 0, .op = OpId{4}}}};
  EXPECT_DEATH(trace_execution(program, std::span(&step, 1)),
               "a recorded op is of its instruction's section");
}

// A node per op: the product took two kernels, from 250 to 1750 ns after the start of the step.
TEST(Execution, OfAGpuANodeLastsAsLongAsTheKernelsOfItsOp) {
  const Program program = program_for_tests();
  const ExecutedStep step = gpu_step_for_tests(program, 4, Nanoseconds{1000});
  const Trace trace = trace_execution(program, std::span(&step, 1)).trace;
  ASSERT_EQ(trace.size(), 4u);
  EXPECT_EQ(trace.name(0), "model.h.0.attn.matmul");
  EXPECT_EQ(trace.start(0), Nanoseconds{1250});
  EXPECT_EQ(trace.duration(0), Nanoseconds{1500});
  EXPECT_EQ(trace.find_attribute(0, "stream")->integer(), 13);
  EXPECT_EQ(trace.find_attribute(0, "device")->integer(), 0);
}

}  // namespace
}  // namespace nadi::inline traces
