// What every engine does alike, shown on the CPU's.
#include "nadi/engine/device_engine.h"

#include <gtest/gtest.h>

#include <array>

#include "nadi/devices/make_engine.h"
#include "nadi/graph/builder.h"
#include "nadi/graph/ops/add.h"
#include "nadi/graph/ops/copy.h"

namespace nadi::inline engines {
namespace {

// total += x: a metric of one element.
Program adding_program() {
  GraphBuilder builder;
  const TensorId x = builder.input("x", Shape{}, DType::kF32);
  const TensorId total = builder.variable({.name = "total", .role = Role::kMetric});
  builder.add({.kind = OpKind::kAdd, .inputs = {total, x}, .into = {{total}}});
  Program program;
  program.graphs.push_back(builder.take());
  program.sections.push_back({.name = "forward", .end_op = 1});
  program.instructions.push_back({});
  program.slots = {1};
  return program;
}

class BoundEngine : public testing::Test {
 protected:
  BoundEngine() {
    engine_->bind();
    engine_->initialize(1);
  }

  void set(InputSet inputs, float value) {
    const std::array values{value};
    engine_->set_input<float>(handle_, inputs, "x", values);
  }

  const Program program_ = adding_program();
  const std::unique_ptr<Engine> engine_ = make_engine(DeviceKind::kCpu, {.threads = 1});
  const ProgramHandle handle_ = engine_->load(program_);
};

TEST_F(BoundEngine, HasTwoSetsOfInputs) {
  set(InputSet::kFirst, 1);
  set(InputSet::kSecond, 10);
  engine_->run(handle_, {.inputs = InputSet::kFirst});
  engine_->run(handle_, {.inputs = InputSet::kSecond});
  const Ticket last = engine_->run(handle_, {.inputs = InputSet::kFirst});
  EXPECT_EQ(engine_->scalar(last, "total"), 12);
}

TEST_F(BoundEngine, ScalarsAreThoseOfTheirRun) {
  set(InputSet::kFirst, 1);
  std::vector<Ticket> tickets;
  for (int i = 0; i < 4; ++i) tickets.push_back(engine_->run(handle_, {}));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(engine_->scalar(tickets[i], "total"), i + 1);
  engine_->run(handle_, {});
  EXPECT_DEATH(engine_->scalar(tickets[0], "total"), "no longer kept");
}

TEST_F(BoundEngine, ReadsAndWritesVariables) {
  const std::array value{5.0F};
  engine_->write_all<float>("total", value);
  EXPECT_EQ(engine_->read_all<float>("total"), std::vector{5.0F});
  EXPECT_DEATH(engine_->write("total", 1, std::as_bytes(std::span(value))), "outside");
  EXPECT_DEATH(engine_->read_all<std::int64_t>("total"), "another element type");
  EXPECT_EQ(engine_->find_variable("x"), nullptr);
}

TEST_F(BoundEngine, MisuseIsSaid) {
  EXPECT_DEATH(engine_->run(handle_, {.inputs = InputSet::kSecond}), "never set");
  EXPECT_DEATH(engine_->load(program_), "after memory was laid out");
  EXPECT_DEATH(engine_->bind(), "once");
  const std::array two{1.0F, 2.0F};
  EXPECT_DEATH(engine_->set_input<float>(handle_, InputSet::kFirst, "x", two), "'x'");
  EXPECT_DEATH(engine_->set_input<float>(handle_, InputSet::kFirst, "y", two), "'y'");
}

}  // namespace
}  // namespace nadi::inline engines
