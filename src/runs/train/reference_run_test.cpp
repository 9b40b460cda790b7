// Whole runs of training on the reference engine: the oracle of what other engines compute.
#include <gtest/gtest.h>

#include "nadi/model/catalogue.h"
#include "nadi/train/small_run_for_tests.h"

namespace nadi::inline runs {
namespace {

// 20 steps of gpt2-tiny with dropout, in fp32: doubles and floats agree.
TEST(ReferenceRun, LossesOfTheCpuAreThoseInDoublePrecision) {
  const SmallRun run(architecture_named("gpt2"), {.samples = 40, .seq_length = 12});
  TrainOptions options = run.options();
  options.config = *find_built_in_model("gpt2-tiny");
  options.optimizer.learning_rate.peak = 5e-5;  // Adam makes steps of that size of what is mere rounding
  options.batch_size = 1;
  options.max_steps = 20;
  options.evaluate = false;
  options.device = DeviceKind::kCpu;
  const std::vector<double> losses = run.train(options).losses();
  options.device = DeviceKind::kReference;
  const std::vector<double> expected = run.train(options).losses();
  ASSERT_EQ(losses.size(), 20u);
  ASSERT_EQ(expected.size(), 20u);
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(losses[i], expected[i], 1e-5 * expected[i]) << "step " << i + 1;
  EXPECT_LT(expected.back(), expected.front());
}

}  // namespace
}  // namespace nadi::inline runs
