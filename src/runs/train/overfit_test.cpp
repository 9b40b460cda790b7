// The whole of training at work: a model with enough room learns 64 samples by heart.
#include <gtest/gtest.h>

#include "nadi/train/small_run_for_tests.h"

namespace nadi::inline runs {
namespace {

// Each sample begins with a letter of its own, from which all that follows can be known: the loss can get as
// near to 0 as one likes. Guessing among 8 letters would give ln 8 = 2.1.
TEST(Overfit, AModelLearnsItsSamplesByHeart) {
  const SmallRun run(architecture_named("gpt2"), {.samples = 64});
  TrainOptions options = run.options();
  options.config.width = 64;
  options.config.head_width = 32;
  options.config.ffn_width = 256;
  options.batch_size = 16;
  options.optimizer.learning_rate = {.decay = Decay::kCosine, .peak = 4e-3, .warmup = 10};
  options.optimizer.weight_decay = 0;
  options.epochs = 50;
  options.evaluate = false;
  const Told told = run.train(options);
  EXPECT_GT(told.epochs.front().train_loss, 2.1);
  EXPECT_LT(told.epochs.back().train_loss, 0.1);
}

}  // namespace
}  // namespace nadi::inline runs
