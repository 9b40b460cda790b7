#include "nadi/recording/execution_memory.h"

#include <gtest/gtest.h>

#include <map>

#include "nadi/model/catalogue.h"
#include "nadi/parallel/step_program.h"
#include "nadi/recording/execution_for_tests.h"

namespace nadi::inline traces {
namespace {

// A product of 4 x 8 numbers in a forward section, added to itself in a backward section: 128 bytes that
// cross, and 128 of the sum. Aligned they are the same.
Program crossing_program(std::int64_t slots) {
  GraphBuilder b;
  const TensorId x = b.input("x", Shape{4, 8}, DType::kF32);
  const TensorId w = b.parameter("w", Shape{8, 8}, DType::kF32, Initializer::constant(1));
  const TensorId y = b.add_one({.kind = OpKind::kMatmul, .inputs = {x, w}});
  {
    const auto phase = b.in_phase(Phase::kBackward);
    const TensorId sum = b.add_one({.kind = OpKind::kAdd, .inputs = {y, y}});
    b.add_one({.kind = OpKind::kAdd, .inputs = {sum, y}});
  }
  Program program;
  program.graphs.push_back(b.take());
  program.sections.push_back({.name = "forward", .graph = 0, .first_op = 0, .end_op = 1});
  program.sections.push_back({.name = "backward", .graph = 0, .first_op = 1, .end_op = 3});
  program.slots = {slots};
  return program;
}

TEST(ExecutionMemory, WhatWaitsInASlotCountsForEveryInstructionBetween) {
  Program program = crossing_program(2);
  // Both micro-batches forward, then both backward.
  program.instructions = {{.section = SectionId{0}, .micro_batch = 0},
                          {.section = SectionId{0}, .micro_batch = 1},
                          {.section = SectionId{1}, .micro_batch = 0},
                          {.section = SectionId{1}, .micro_batch = 1}};
  const ExecutionMemory memory(program);
  const auto alive = [&](std::uint32_t instruction, std::uint32_t op) {
    return memory.alive({}, {.instruction = instruction, .op = OpId{op}});
  };
  EXPECT_EQ(alive(0, 0), 128_B);      // the first product
  EXPECT_EQ(alive(1, 0), 128_B * 2);  // both
  EXPECT_EQ(alive(2, 1), 128_B * 3);  // and the first sum
  EXPECT_EQ(alive(3, 1), 128_B * 2);  // the first product is gone
  // Two slots and an arena for the sums.
  EXPECT_GE(memory.reserved(), 128_B * 3);
}

TEST(ExecutionMemory, WhatWaitsInTheArenaCountsWhileAnotherGraphRuns) {
  Program program = crossing_program(1);
  GraphBuilder b;
  const TensorId v = b.parameter("v", Shape{4, 8}, DType::kF32, Initializer::constant(1));
  b.add_one({.kind = OpKind::kAdd, .inputs = {v, v}});
  program.graphs.push_back(b.take());
  program.sections.push_back({.name = "between", .graph = 1, .first_op = 0, .end_op = 1});
  program.slots = {1, 1};
  program.instructions = {{.section = SectionId{2}},
                          {.section = SectionId{0}},
                          {.section = SectionId{2}},
                          {.section = SectionId{1}},
                          {.section = SectionId{2}}};
  const ExecutionMemory memory(program);
  EXPECT_EQ(memory.alive({}, {.instruction = 0, .op = OpId{0}}), 128_B);
  EXPECT_EQ(memory.alive({}, {.instruction = 1, .op = OpId{0}}), 128_B);
  EXPECT_EQ(memory.alive({}, {.instruction = 2, .op = OpId{0}}), 128_B * 2);
  EXPECT_EQ(memory.alive({}, {.instruction = 3, .op = OpId{1}}), 128_B * 2);
  EXPECT_EQ(memory.alive({}, {.instruction = 4, .op = OpId{0}}), 128_B);
}

// For each schedule: never more than what is reserved, and the more the earlier the stage in 1F1B, which holds
// as many micro-batches as stages follow.
TEST(ExecutionMemory, OfAPipelineStaysWithinWhatIsReserved) {
  ModelConfig config = *find_built_in_model("gpt2");
  config.layers = 4;
  std::map<std::int64_t, Bytes> most;
  for (const Plan& plan :
       {Plan{.pp = 2, .schedule = ScheduleKind::kInterleaved, .virtual_stages = 2, .micro_batches = 4},
        Plan{.dp = 2, .micro_batches = 2}, Plan{.pp = 4, .micro_batches = 8}}) {
    most.clear();
    for (std::int64_t stage = 0; stage < plan.pp; ++stage) {
      const Program program = build_step(config, {.batch_size = 8, .seq_length = 16}, plan, stage);
      const ExecutionMemory memory(program);
      const ExecutedStep step = execute_for_tests(program, 0, Nanoseconds{});
      for (const ExecutedKernel& kernel : step.kernels) {
        ASSERT_LE(memory.alive(step, kernel), memory.reserved());
        most[stage] = std::max(most[stage], memory.alive(step, kernel));
      }
    }
  }
  EXPECT_GT(most[1], most[2]);
}

}  // namespace
}  // namespace nadi::inline traces
