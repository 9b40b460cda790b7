#include "nadi/reference/reference_engine.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "nadi/base/error.h"
#include "nadi/base/half.h"
#include "nadi/graph/builder.h"
#include "nadi/graph/ops.h"
#include "nadi/parallel/program.h"
#include "nadi/recording/execution.h"

namespace nadi::inline engines {
namespace {

// sum += w * x, for each of two micro-batches: y of the first section is read by the second.
Program scaling_program() {
  GraphBuilder b;
  const TensorId x = b.input("x", Shape{1, 2}, DType::kF32);
  const TensorId w = b.parameter("w", Shape{2, 1}, DType::kBF16, Initializer::constant(0.5));
  b.variable({.name = "w.master",
              .shape = Shape{2, 1},
              .role = Role::kOptimizerState,
              .initializer = Initializer::copy_of(w)});
  const TensorId y = matmul(b, {.a = cast(b, x, DType::kBF16), .b = w});
  const TensorId sum = b.variable({.name = "sum", .shape = Shape{1, 1}, .role = Role::kMetric});
  b.add({.kind = OpKind::kCopy, .inputs = {y}, .into = {{sum, true}}});
  const TensorId count = b.variable({.name = "count", .dtype = DType::kI64, .role = Role::kCounter});
  advance(b, count, 1);
  Program program;
  program.graphs.push_back(b.take());
  program.sections = {{.name = "forward", .graph = 0, .first_op = 0, .end_op = 2},
                      {.name = "backward", .graph = 0, .first_op = 2, .end_op = 4}};
  for (const auto& [section, micro_batch] : {std::pair{0, 0}, {0, 1}, {1, 0}, {1, 1}})
    program.instructions.push_back(
        {.section = SectionId{static_cast<std::uint32_t>(section)}, .micro_batch = micro_batch});
  program.slots = {2};
  return program;
}

class ReferenceEngineTest : public testing::Test {
 protected:
  ReferenceEngineTest() {
    handle_ = engine_.load(program_);
    engine_.bind();
  }

  void set(InputSet set, std::array<float, 2> values, std::optional<std::int64_t> micro_batch = {}) {
    engine_.set_input<float>(handle_, set, "x", values, micro_batch);
  }

  const Program program_ = scaling_program();
  ReferenceEngine engine_{EngineOptions{}};
  ProgramHandle handle_{};
};

TEST_F(ReferenceEngineTest, EveryMicroBatchHasItsInputsAndEverySetItsOwn) {
  engine_.initialize(1);
  set(InputSet::kFirst, {1, 2}, 0);
  set(InputSet::kFirst, {3, 4}, 1);
  set(InputSet::kSecond, {100, 200});
  const Ticket first = engine_.run(handle_, {.inputs = InputSet::kFirst});
  EXPECT_EQ(engine_.scalar(first, "sum"), 0.5 * (1 + 2) + 0.5 * (3 + 4));
  const Ticket second = engine_.run(handle_, {.inputs = InputSet::kSecond});
  // Both micro-batches have the same.
  EXPECT_EQ(engine_.scalar(second, "sum"), 5 + 2 * 150);
  // The scalars of the run before are still there.
  EXPECT_EQ(engine_.scalar(first, "sum"), 5);
  EXPECT_EQ(engine_.scalar(second, "count"), 4);
}

TEST_F(ReferenceEngineTest, RunsTheInstructionsThatAreAskedFor) {
  engine_.initialize(1);
  set(InputSet::kFirst, {2, 2});
  const Ticket before = engine_.run(handle_, {.first = 0, .end = 2});
  EXPECT_EQ(engine_.scalar(before, "sum"), 0);
  const Ticket after = engine_.run(handle_, {.first = 2});
  EXPECT_EQ(engine_.scalar(after, "sum"), 4);
}

TEST_F(ReferenceEngineTest, VariablesAreReadAndWrittenInTheirOwnType) {
  const std::array<std::uint16_t, 1> third{to_bf16(1.0F / 3)};
  engine_.write("w", 1, std::as_bytes(std::span(third)));
  engine_.initialize(1);
  // What was written stays, the rest of the variable, too; and the master takes it.
  EXPECT_EQ(engine_.read_all<std::uint16_t>("w"), (std::vector<std::uint16_t>{0, third[0]}));
  EXPECT_EQ(engine_.read_all<float>("w.master"), (std::vector{0.0F, from_bf16(third[0])}));
  EXPECT_EQ(engine_.read_all<std::int64_t>("count"), std::vector<std::int64_t>{0});
  const std::array<std::int64_t, 1> many{std::int64_t{1} << 40};
  engine_.write_all<std::int64_t>("count", many);
  set(InputSet::kFirst, {0, 0});
  EXPECT_EQ(engine_.scalar(engine_.run(handle_, {}), "count"), std::pow(2, 40) + 2);
  std::array<float, 1> second{};
  engine_.read("w.master", 1, std::as_writable_bytes(std::span(second)));
  EXPECT_EQ(second[0], from_bf16(third[0]));
}

TEST_F(ReferenceEngineTest, RecordsEveryKernel) {
  engine_.initialize(1);
  set(InputSet::kFirst, {1, 1});
  ExecutedStep record{.step = 1};
  engine_.run(handle_, {.record = &record});
  EXPECT_EQ(record.device.kind, ExecutedDevice::Kind::kReference);
  ASSERT_EQ(record.kernels.size(), 8u);
  for (const ExecutedKernel& kernel : record.kernels) {
    EXPECT_EQ(kernel.stream, kComputeStream);
    EXPECT_LE(kernel.start, kernel.end);
  }
  const ExecutionTrace executed = trace_execution(program_, std::span(&record, 1));
  EXPECT_EQ(compare_with_dry_trace(executed.trace, trace_step(program_)), std::nullopt);
}

TEST_F(ReferenceEngineTest, CountsInDoubles) {
  EXPECT_EQ(engine_.held(Role::kParameter), Bytes{2 * 8});
  EXPECT_EQ(engine_.held(Role::kOptimizerState), Bytes{2 * 8});
  // Four variables of 2, 2, 1 and 1 elements, and the input of 2, for two micro-batches, twice.
  EXPECT_EQ(engine_.allocated(), Bytes{8 * (6 + 2 * 2 * 2)});
}

TEST(ReferenceEngine, RefusesCommunicationWithoutOtherRanks) {
  GraphBuilder b;
  all_gather(b, b.input("x", Shape{2}, DType::kF32), {"tp", 2}, 0);
  Program program;
  program.graphs.push_back(b.take());
  ReferenceEngine engine{EngineOptions{}};
  EXPECT_THROW(engine.load(program), Error);
}

}  // namespace
}  // namespace nadi::inline engines
