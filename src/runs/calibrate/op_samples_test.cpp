#include "nadi/calibrate/op_samples.h"

#include <gtest/gtest.h>

#include <array>

#include "nadi/graph/builder.h"
#include "nadi/graph/ops.h"
#include "nadi/parallel/step_program.h"

namespace nadi::inline runs {
namespace {

// y = a + b, z = y + b, of 8 floats each: two ops that are the same to the table.
Program two_sums() {
  Program program;
  GraphBuilder builder;
  const TensorId a = builder.input("a", {8}, DType::kF32), b = builder.input("b", {8}, DType::kF32);
  add(builder, add(builder, a, b), b);
  program.graphs.push_back(builder.take());
  program.sections = {{.name = "forward", .graph = 0, .first_op = 0, .end_op = 2}};
  program.instructions = {{.section = SectionId{0}}};
  return program;
}

ExecutedStep step_of(std::int64_t first_ns, std::int64_t second_ns) {
  ExecutedStep step{.start = Nanoseconds{0}, .end = Nanoseconds{first_ns + second_ns + 20}};
  step.reserve(2, 2);
  const OpId first{0}, second{1};
  step.enter(0, std::span(&first, 1), kComputeStream, Nanoseconds{10}).end = Nanoseconds{10 + first_ns};
  step.enter(0, std::span(&second, 1), kComputeStream, Nanoseconds{20 + first_ns}).end =
      Nanoseconds{20 + first_ns + second_ns};
  return step;
}

// Medians over the runs: 100 and 300; the mean of the two occurrences is 200, and each has 10 behind it.
TEST(OpSamples, TakesTheMedianOfRunsAndTheMeanOfOccurrences) {
  const Program program = two_sums();
  OpSamples samples;
  samples.add(program, std::vector{step_of(100, 300), step_of(90, 310), step_of(9000, 300)});
  const std::vector<MeasuredOp> rows = samples.rows();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].kind, OpKind::kAdd);
  EXPECT_EQ(rows[0].read, Bytes{64});
  EXPECT_EQ(rows[0].written, Bytes{32});
  EXPECT_EQ(rows[0].time, Nanoseconds{210});
  // 20 ns of each step are outside of its two kernels.
  EXPECT_EQ(samples.between_kernels(), Nanoseconds{10});
}

// On a GPU: 10 ns are between the two kernels, and 400 within; steps that follow one another take 510, so
// that kernels take 1.25 times as long then.
TEST(OpSamples, KernelsOfAGpuAreStretchedToStepsThatFollowOneAnother) {
  const Program program = two_sums();
  ExecutedStep step = step_of(100, 300);
  step.device.kind = ExecutedDevice::Kind::kCuda;
  OpSamples samples;
  samples.add(program, std::span(&step, 1), Nanoseconds{510});
  ASSERT_EQ(samples.rows().size(), 1U);
  EXPECT_EQ(samples.rows()[0].time, Nanoseconds{255});
  EXPECT_EQ(samples.between_kernels(), Nanoseconds{5});
}

// Blocks 0, 1 and 2 take 100, 200 and 600 ns. The model has ten blocks: eight of them are like block 1.
TEST(OpSamples, InnerBlocksWeighAsManyTimesAsTheModelHasMoreOfThem) {
  Program program;
  GraphBuilder builder;
  const TensorId a = builder.input("a", {8}, DType::kF32);
  for (std::int32_t block = 0; block < 3; ++block) {
    const auto scope = builder.in_block(block);
    add(builder, a, a);
  }
  program.graphs.push_back(builder.take());
  program.sections = {{.name = "forward", .graph = 0, .first_op = 0, .end_op = 3}};
  program.instructions = {{.section = SectionId{0}}};
  ExecutedStep step{.end = Nanoseconds{900}};
  step.reserve(3, 3);
  std::int64_t now = 0;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const OpId op{i};
    ExecutedKernel& kernel = step.enter(0, std::span(&op, 1), kComputeStream, Nanoseconds{now});
    now += std::array{100, 200, 600}[i];
    kernel.end = Nanoseconds{now};
  }
  OpSamples samples;
  samples.add(program, std::span(&step, 1), {}, 8);
  ASSERT_EQ(samples.rows().size(), 1U);
  EXPECT_EQ(samples.rows()[0].time, Nanoseconds{230});  // (100 + 8 * 200 + 600) / 10
}

TEST(OpSamples, OpsOfOneKindInOneKernelShareItsTimeByTheirBytes) {
  const Program program = two_sums();
  ExecutedStep step{.end = Nanoseconds{500}};
  const std::vector ops{OpId{0}, OpId{1}};
  step.reserve(1, 2);
  step.enter(0, ops, kComputeStream, Nanoseconds{0}).end = Nanoseconds{500};
  OpSamples samples;
  samples.add(program, std::span(&step, 1));
  ASSERT_EQ(samples.rows().size(), 1U);
  EXPECT_EQ(samples.rows()[0].time, Nanoseconds{250});  // both move 96 bytes
  // The kernel did both sums; how much of that went through memory is not known.
  ASSERT_EQ(samples.kernels().size(), 1U);
  EXPECT_EQ(samples.kernels()[0].time, Nanoseconds{500});
  EXPECT_EQ(samples.kernels()[0].vector, Flops{16});
  EXPECT_EQ(samples.kernels()[0].read, Bytes{0});
}

TEST(OpSamples, MedianOfAnEvenNumberIsBetweenTheTwoInTheMiddle) {
  EXPECT_EQ(median_of({4, 1, 3, 100}), 3.5);
  EXPECT_EQ(median_of({}), 0);
}

}  // namespace
}  // namespace nadi::inline runs
