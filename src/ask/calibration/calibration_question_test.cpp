#include "nadi/calibration/calibration_question.h"

#include <gtest/gtest.h>

#include "nadi/base/error.h"

namespace nadi::inline ask {
namespace {

TEST(CalibrationQuestion, DefaultsAreThoseOfTheMachine) {
  const CalibrationOptions options = resolve({}, 1);
  ASSERT_EQ(options.models.size(), 1u);
  EXPECT_EQ(options.models[0].name, "gpt2");
  EXPECT_EQ(options.dtypes, std::vector{DType::kF32});
  EXPECT_EQ(options.repetitions, 3);
  EXPECT_EQ(options.patience, Nanoseconds{60'000'000'000});
  EXPECT_GE(options.threads, 1);
  EXPECT_GE(options.threads, resolve({}, 2).threads) << "two ranks share the cores";
  EXPECT_EQ(resolve({.quick = true}, 1).patience, kQuickPatience);
  EXPECT_EQ(resolve({.quick = true, .patience = Nanoseconds{0}}, 1).patience, Nanoseconds{0});
  EXPECT_EQ(calibrated_ranks(DeviceKind::kCuda), std::vector<std::int64_t>{1});
  EXPECT_EQ(calibrated_ranks(DeviceKind::kCpu).front(), 1);
}

TEST(CalibrationQuestion, RefusesWhatMakesNoSense) {
  EXPECT_THROW(resolve({.device = DeviceKind::kReference}, 1), Error);
  EXPECT_THROW(resolve({.quick = true, .sizes = {{.batch = 1, .tokens = 16}}}, 1), Error);
  EXPECT_THROW(resolve({.models = {"gtp2"}}, 1), Error);
}

}  // namespace
}  // namespace nadi::inline ask
