#include "nadi/recording/executed_step.h"

#include <gmock/gmock.h>

#include <array>

#include "nadi/recording/execution.h"
#include "nadi/recording/execution_for_tests.h"
#include "nadi/recording/execution_memory.h"
#include "nadi/recording/op_stacks.h"

namespace nadi::inline traces {
namespace {

using testing::ElementsAre;

Nanoseconds us(std::int64_t count) {
  return Nanoseconds{count * 1000};
}

// The product and the addition behind it as one kernel, then the other two additions.
ExecutedStep fused_step_for_tests() {
  constexpr std::array kFused{OpId{0}, OpId{1}};
  constexpr std::array kThird{OpId{2}};
  constexpr std::array kFourth{OpId{3}};
  ExecutedStep step{.step = 5, .end = us(40)};
  step.reserve(3, 4);
  step.enter(0, kFused, kComputeStream, us(1)).end = us(11);
  step.enter(0, kThird, kComputeStream, us(12)).end = us(14);
  step.enter(0, kFourth, kComputeStream, us(15)).end = us(17);
  return step;
}

TEST(ExecutedStep, EntersKernelsWithoutAllocating) {
  ExecutedStep step;
  step.reserve(3, 5);
  const auto kernels = step.kernels.capacity(), further = step.further_ops.capacity();
  constexpr std::array kThree{OpId{0}, OpId{1}, OpId{2}};
  constexpr std::array kOne{OpId{3}};
  step.enter(0, kThree, kComputeStream, us(1));
  step.enter(0, kOne, kComputeStream, us(2));
  step.enter(1, kOne, StreamId{7}, us(3));
  EXPECT_EQ(step.kernels.capacity(), kernels);
  EXPECT_EQ(step.further_ops.capacity(), further);
  EXPECT_EQ(step.kernels[0].ops(), 3u);
  EXPECT_EQ(step.op(step.kernels[0], 2), OpId{2});
  EXPECT_EQ(step.kernels[2].ops(), 1u);
  EXPECT_EQ(step.op(step.kernels[2], 0), OpId{3});
  EXPECT_EQ(step.kernels[2].stream, StreamId{7});
}

TEST(ExecutedStep, OverlappingKernelsGetAsFewStreamsAsCanBe) {
  // Three at once, then one when the second of them is done, and one when all are.
  std::array kernels{ExecutedKernel{.start = us(0), .end = us(10), .stream = kSendStream},
                     ExecutedKernel{.start = us(1), .end = us(5), .stream = kSendStream},
                     ExecutedKernel{.start = us(2), .end = us(3)},
                     ExecutedKernel{.start = us(2), .end = us(9), .stream = kReceiveStream},
                     ExecutedKernel{.start = us(5), .end = us(8), .stream = kSendStream},
                     ExecutedKernel{.start = us(20), .end = us(21), .stream = kReceiveStream}};
  OverlapStreams streams;
  streams.number(kernels);
  std::vector<std::uint32_t> numbers;
  for (const ExecutedKernel& kernel : kernels) numbers.push_back(to_number(kernel.stream));
  EXPECT_THAT(numbers, ElementsAre(1, 2, 0, 3, 2, 1));
}

TEST(ExecutedStep, AKernelOfSeveralOpsDoesTheWorkOfAll) {
  Program program = program_for_tests();
  program.slots = {1};
  const ExecutedStep step = fused_step_for_tests();
  const ExecutedStep apart = execute_for_tests(program, 0, Nanoseconds{});
  const CallWork work = work_of(program, step, step.kernels[0]);
  const CallWork product = work_of(origin_of(program, apart.kernels[0]));
  const CallWork sum = work_of(origin_of(program, apart.kernels[1]));
  EXPECT_EQ(work.flops, product.flops + sum.flops);
  EXPECT_EQ(work.bytes, product.bytes + sum.bytes);
  EXPECT_EQ(kernel_name(program, step, step.kernels[0]), "matmul+add");
  EXPECT_EQ(kernel_name(program, step, step.kernels[1]), "add");

  const ExecutionMemory memory(program);
  EXPECT_EQ(memory.alive(step, step.kernels[0]),
            std::max(memory.alive(apart, apart.kernels[0]), memory.alive(apart, apart.kernels[1])));
}

// The trace has the nodes of the program, and the time of the kernel once.
TEST(ExecutedStep, EveryOpOfAKernelIsANodeOfTheTrace) {
  const Program program = program_for_tests();
  const ExecutedStep step = fused_step_for_tests();
  const ExecutionTrace run = trace_execution(program, std::span(&step, 1));
  EXPECT_EQ(run.dropped_dependencies, 0u);
  ASSERT_EQ(run.trace.size(), 4u);
  Trace dry;
  StepTracer tracer(program);
  TraceNode node;
  while (tracer.next(node)) dry.add(node);
  EXPECT_EQ(compare_with_dry_trace(run.trace, dry), std::nullopt);
  EXPECT_EQ(run.trace.start(0), us(1));
  EXPECT_EQ(run.trace.duration(0), us(10));
  EXPECT_EQ(run.trace.start(1), us(11));
  EXPECT_EQ(run.trace.duration(1), Nanoseconds{});
  EXPECT_THAT(run.trace.data_deps(1), ElementsAre(TraceNodeId{0}));
  EXPECT_FALSE(run.trace.find_attribute(0, "fused_into"));
  EXPECT_EQ(run.trace.find_attribute(1, "fused_into")->integer(), 0);
  EXPECT_FALSE(run.trace.find_attribute(2, "fused_into"));
  EXPECT_EQ(run.trace.duration(2), us(2));
}

TEST(ExecutedStep, ANodeSaysWhereItRan) {
  const Program program = program_for_tests();
  ExecutedStep step = fused_step_for_tests();
  step.kernels[1].stream = StreamId{2};
  const Trace host = trace_execution(program, std::span(&step, 1)).trace;
  EXPECT_EQ(host.find_attribute(0, "thread")->integer(), 0);
  EXPECT_EQ(host.find_attribute(2, "thread")->integer(), 2);
  EXPECT_FALSE(host.find_attribute(2, "stream"));
  step.device = {.kind = ExecutedDevice::Kind::kCuda, .number = 3};
  const Trace device = trace_execution(program, std::span(&step, 1)).trace;
  EXPECT_FALSE(device.find_attribute(2, "thread"));
  EXPECT_EQ(device.find_attribute(2, "stream")->integer(), 2);
  EXPECT_EQ(device.find_attribute(2, "device")->integer(), 3);
}

TEST(ExecutedStep, TablesCountAKernelOfSeveralOpsOnce) {
  const Program program = program_for_tests();
  const ExecutedStep step = fused_step_for_tests();
  const std::string text = op_stacks(program, std::span(&step, 1));
  EXPECT_THAT(text, testing::ContainsRegex("matmul.add +1 +cpu_time_total=10\\.000"));
  EXPECT_THAT(text, testing::ContainsRegex("model.h.0.attn;matmul.add +1 +cpu_time_total=10\\.000"));
  EXPECT_THAT(text, testing::ContainsRegex("total +3 +cpu_time_total=14\\.000"));
}

TEST(ExecutedStepDeathTest, WhatCommunicatesIsAKernelOfItsOwn) {
  const Program program = communicating_program_for_tests();
  const Plan plan = communicating_plan_for_tests();
  constexpr std::array kWrong{OpId{1}, OpId{2}};  // a product and its reduction
  ExecutedStep step;
  step.reserve(1, 2);
  step.enter(0, kWrong, kComputeStream, us(1)).end = us(2);
  EXPECT_DEATH(trace_execution(program, std::span(&step, 1), {.plan = &plan, .rank = Rank{2}}),
               "what communicates is a kernel of its own");
}

}  // namespace
}  // namespace nadi::inline traces
