#include "nadi/report/train_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "nadi/terminal/console.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;
using testing::Not;

// A terminal, or a file, and a clock that is set by hand.
class TrainLogTest : public testing::Test {
 protected:
  TrainLog log(bool terminal, std::int64_t logging_steps = 10) {
    console_.terminal_err = terminal;
    return TrainLog(console_, out_, logging_steps, [this] { return now_; });
  }

  static StepReport report(std::int64_t step) {
    return {.step = step,
            .total_steps = 10,
            .epoch = 1,
            .loss = 2.5,
            .learning_rate = 1e-4,
            .grad_norm = 1.25,
            .tokens = 1000,
            .memory = 0_B,
            .seconds = 0.5};
  }

  std::ostringstream out_, err_;
  Console console_{.out = out_, .err = err_};
  Nanoseconds now_{};
};

TEST_F(TrainLogTest, ShowsABarOnATerminal) {
  TrainLog shown = log(true);
  shown.started(0, 10);
  now_ = Nanoseconds{4'000'000'000};
  shown.step(report(4));
  // 4 of 10: 9 of 24 signs, and 4 s for 4 steps leave 6 s for 6. 1000 tokens in half a second.
  EXPECT_EQ(err_.str(),
            "\r\033[K[#########...............] step 4/10 epoch 1 loss 2.5000, 2,000 tokens/s, 0:06 left");
  EXPECT_EQ(out_.str(), "");
  err_.str("");
  shown.saved("run/checkpoint-4");
  EXPECT_THAT(err_.str(), testing::StartsWith("\r\033[Ksaved run/checkpoint-4\n\r\033[K[####"));
}

TEST_F(TrainLogTest, ABarIsGoneWithItsLog) {
  {
    TrainLog shown = log(true);
    shown.started(0, 10);
    shown.step(report(1));
  }
  EXPECT_TRUE(err_.str().ends_with("left\r\033[K"));
}

TEST_F(TrainLogTest, PrintsLinesWhereNobodyWatches) {
  TrainLog plain = log(false, 4);
  plain.started(0, 10);
  for (std::int64_t step = 1; step <= 10; ++step) {
    now_ = Nanoseconds{step * 1'000'000'000};
    plain.step(report(step));
  }
  // The first, every fourth and the last.
  EXPECT_EQ(
      out_.str(),
      "step 1/10, epoch 1: loss 2.5000, lr 1.000e-04, grad norm 1.250, 0.5 s/step, 2000 tokens/s, 0:09 left\n"
      "step 4/10, epoch 1: loss 2.5000, lr 1.000e-04, grad norm 1.250, 0.5 s/step, 2000 tokens/s, 0:06 left\n"
      "step 8/10, epoch 1: loss 2.5000, lr 1.000e-04, grad norm 1.250, 0.5 s/step, 2000 tokens/s, 0:02 left\n"
      "step 10/10, epoch 1: loss 2.5000, lr 1.000e-04, grad norm 1.250, 0.5 s/step, 2000 tokens/s, 0:00 "
      "left\n");
  EXPECT_EQ(err_.str(), "");
}

// 12 B s L h^2 (1 + 1 + s/(2h) + ffn/h + V/(2 L h)) with B = 8, s = 100, L = 2, h = 10, ffn = 40, V = 40:
// 12 * 8 * 100 * 2 * 100 * (2 + 5 + 4 + 1) = 23.04 MFLOP in half a second, by 2 ranks: 23.04 MFLOP/s each.
TEST_F(TrainLogTest, TellsNoNormThatWasNotTaken) {
  TrainLog shown = log(false);
  shown.started(0, 10);
  StepReport unclipped = report(1);
  unclipped.grad_norm.reset();
  shown.step(unclipped);
  EXPECT_THAT(out_.str(), HasSubstr("lr 1.000e-04, 0.5 s/step, 2000 tokens/s"));
}

TEST_F(TrainLogTest, SaysWhatAGpuDoes) {
  ModelConfig config;
  config.layers = 2;
  config.width = 10;
  config.heads = config.kv_heads = 1;
  config.ffn_width = config.vocabulary = 40;
  const auto text_with = [&](std::optional<double> peak) {
    out_.str("");
    TrainLog plain(
        console_, out_, 1, [this] { return now_; },
        GpuThroughput{.config = config, .seq_length = 100, .ranks = 2, .peak_tflops = peak});
    plain.started(0, 10);
    StepReport step = report(1);
    step.global_batch = 8 * 1'000'000;
    plain.step(step);
    return out_.str();
  };
  EXPECT_THAT(text_with(92.16), HasSubstr("tokens/s, 23.0 TFLOP/s per GPU, MFU 25.0%, "));
  EXPECT_THAT(text_with(std::nullopt), HasSubstr("tokens/s, 23.0 TFLOP/s per GPU, 0:00 left"));
}

TEST_F(TrainLogTest, TimeLeftIsThatOfThisPartOfTheRun) {
  TrainLog plain = log(false, 1);
  plain.started(8, 10);
  EXPECT_EQ(err_.str(), "note: continuing after step 8 of 10\n");
  now_ = Nanoseconds{11'525'000'000'000};  // for one step; one is left: 3 h 12 min 5 s
  plain.step(report(9));
  EXPECT_THAT(out_.str(), HasSubstr(", 3:12:05 left\n"));
}

TEST_F(TrainLogTest, EpochsAndValidations) {
  TrainLog plain = log(false);
  plain.evaluated({.step = 5, .loss = 3.00004, .best = true});
  plain.evaluated({.step = 6, .loss = 4});
  plain.epoch({.epoch = 1, .train_loss = 2, .validation_loss = 3.12345});
  plain.epoch({.epoch = 2, .train_loss = 12.5});
  EXPECT_EQ(out_.str(),
            "step 5: validation loss 3.0000, the best so far\n"
            "step 6: validation loss 4.0000\n"
            "Epoch 1: Train Loss = 2.0000, Val Loss = 3.1235\n"
            "Epoch 2: Train Loss = 12.5000\n");
}

TEST_F(TrainLogTest, SaysThatAStepWasSkipped) {
  TrainLog plain = log(false);
  plain.started(0, 10);
  StepReport skipped = report(2);
  skipped.loss_scale = 32768;
  skipped.skipped = true;
  plain.step(skipped);
  EXPECT_EQ(
      err_.str(),
      "note: step 2: gradients overflowed; the step is skipped and the loss scale goes down to 32768\n");
  StepReport last = report(10);
  last.loss_scale = 32768;
  plain.step(last);
  EXPECT_THAT(out_.str(), HasSubstr("grad norm 1.250, loss scale 32768, "));
  EXPECT_THAT(out_.str(), Not(HasSubstr("step 2/")));
}

}  // namespace
}  // namespace nadi::inline show
