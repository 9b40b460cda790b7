#include "nadi/report/megatron_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "nadi/model/catalogue.h"

namespace nadi::inline show {
namespace {

using testing::HasSubstr;
using testing::Not;

class MegatronLogTest : public testing::Test {
 protected:
  MegatronLogOptions options() const { return {.config = *find_built_in_model("gpt2"), .seq_length = 1024}; }
  MegatronLog log(const MegatronLogOptions& options) {
    return MegatronLog(options, lines_, notes_, [] { return "2026-01-31 09:05:00"; });
  }
  static StepReport report(std::int64_t step) {
    return {.step = step,
            .total_steps = 500000,
            .loss = 10.5,
            .learning_rate = 1e-4,
            .next_learning_rate = 1.5e-4,
            .grad_norm = 1.2345,
            .global_batch = 16,
            .consumed_samples = 16 * step,
            .memory = 3_MiB,
            .seconds = 0.25};
  }

  std::ostringstream lines_, notes_;
};

TEST_F(MegatronLogTest, OlderForm) {
  MegatronLog plain = log(options());
  plain.started(0, 500000);
  plain.step(report(1));
  EXPECT_EQ(
      lines_.str(),
      " iteration        1/  500000 | consumed samples:           16 | elapsed time per iteration (ms): "
      "250.0 | learning rate: 1.500E-04 | global batch size:    16 | lm loss: 1.050000E+01 | loss scale: "
      "1.0 | grad norm: 1.234 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
      "[Rank 0] (after 1 iterations) memory (MB) | allocated: 3.00 | max allocated: 3.00 | reserved: 3.00 | "
      "max reserved: 3.00\n");
  lines_.str("");
  plain.step(report(2));
  EXPECT_THAT(lines_.str(), Not(HasSubstr("memory"))) << "once";
}

TEST_F(MegatronLogTest, ArgumentsInEffectComeFirst) {
  MegatronLogOptions with = options();
  with.arguments = {{{"world_size", "4"}, {"micro_batch_size", "2"}}};
  log(with).started(0, 50);
  // As Megatron prints them: 48 characters for the name and dots.
  EXPECT_EQ(lines_.str(),
            "------------------------ arguments ------------------------\n"
            "  micro_batch_size ................................ 2\n"
            "  train_iters ..................................... 50\n"
            "  world_size ...................................... 4\n"
            "-------------------- end of arguments ---------------------\n");
  lines_.str("");
  with.prints_notes = false;
  log(with).started(0, 50);
  EXPECT_EQ(lines_.str(), "") << "one rank prints them";
}

TEST_F(MegatronLogTest, NewerForm) {
  MegatronLogOptions with = options();
  with.throughput = true;
  with.prints_memory = false;
  MegatronLog newer = log(with);
  newer.step(report(1));
  // 12 x 16 x 1024 x 12 x 768^2 x (1 + 1 + 1024/1536 + 4 + 50257/18432) = 1.39158e12 x 9.39329 = 1.30715e13,
  // of which a quarter of a second is 52.3 TFLOP/s.
  EXPECT_EQ(
      lines_.str(),
      " [2026-01-31 09:05:00] iteration        1/  500000 | consumed samples:           16 | elapsed time "
      "per "
      "iteration (ms): 250.0 | throughput per GPU (TFLOP/s/GPU): 52.3 | learning rate: 1.500000E-04 | global "
      "batch size:    16 | lm loss: 1.050000E+01 | loss scale: 1.0 | grad norm: 1.234 | number of skipped "
      "iterations:   0 | number of nan iterations:   0 |\n");
}

// Two good steps of losses 10.5 and 11.5 and times 0.25 s and 0.75 s, and one that was skipped, of 0.5 s.
TEST_F(MegatronLogTest, ALineIsAboutAllStepsSinceTheLast) {
  MegatronLogOptions every_third = options();
  every_third.interval = 3;
  MegatronLog third = log(every_third);
  StepReport first = report(1), second = report(2), third_step = report(3);
  second.loss = 11.5;
  second.seconds = 0.75;
  third_step.skipped = true;
  third_step.loss_scale = 32768;
  third_step.seconds = 0.5;
  third.step(first);
  third.step(second);
  EXPECT_EQ(lines_.str(), "");
  third.step(third_step);
  EXPECT_THAT(lines_.str(), HasSubstr("(ms): 500.0 |"));
  EXPECT_THAT(lines_.str(), HasSubstr("| lm loss: 1.100000E+01 | loss scale: 32768.0 |"));
  EXPECT_THAT(lines_.str(), HasSubstr("number of skipped iterations:   1 |"));
  EXPECT_THAT(lines_.str(), HasSubstr("[Rank 0] (after 3 iterations) memory"));
}

// What parsers of such logs look for.
TEST_F(MegatronLogTest, IsReadByParsers) {
  MegatronLogOptions with = options();
  for (const bool throughput : {false, true}) {
    lines_.str("");
    with.throughput = throughput;
    MegatronLog printed = log(with);
    printed.step(report(10));
    const std::string text = lines_.str();
    std::smatch found;
    const std::regex iteration(
        R"(iteration\s+(\d+)/\s*(\d+) \| consumed samples:\s+(\d+) \| elapsed time per iteration \(ms\): ([0-9.]+) \|)");
    ASSERT_TRUE(std::regex_search(text, found, iteration)) << text;
    EXPECT_EQ(found[1], "10");
    EXPECT_EQ(found[2], "500000");
    EXPECT_EQ(found[3], "160");
    EXPECT_EQ(found[4], "250.0");
    ASSERT_TRUE(std::regex_search(text, found, std::regex(R"(lm loss: ([0-9.]+E[+-][0-9]+) \|)")));
    EXPECT_EQ(found[1], "1.050000E+01");
    ASSERT_TRUE(std::regex_search(
        text, found,
        std::regex(
            R"(\[Rank (\d+)\] \(after (\d+) iterations\) memory \(MB\) \| allocated: ([0-9.]+) \| max allocated: )"
            R"(([0-9.]+) \| reserved: ([0-9.]+) \| max reserved: ([0-9.]+))")));
    EXPECT_EQ(found[2], "10");
    EXPECT_EQ(std::regex_search(text, std::regex(R"(throughput per GPU \(TFLOP/s/GPU\): [0-9.]+ \|)")),
              throughput);
  }
}

TEST_F(MegatronLogTest, RanksPrintTheirPart) {
  MegatronLogOptions middle = options();
  middle.rank = 2;
  middle.prints_lines = middle.prints_notes = false;
  MegatronLog quiet = log(middle);
  quiet.started(4, 10);
  quiet.step(report(5));
  quiet.saved("x");
  quiet.evaluated({.step = 5, .loss = 1});
  EXPECT_EQ(notes_.str(), "");
  EXPECT_THAT(lines_.str(), testing::StartsWith("[Rank 2] (after 5 iterations) memory (MB) | "));
  middle.prints_memory = false;
  lines_.str("");
  MegatronLog silent = log(middle);
  silent.step(report(5));
  EXPECT_EQ(lines_.str(), "");
}

TEST_F(MegatronLogTest, ValidationLosses) {
  MegatronLog printed = log(options());
  printed.evaluated({.step = 100, .loss = 0});
  const std::string line =
      " validation loss at iteration 100 | lm loss value: 0.000000E+00 | lm loss PPL: 1.000000E+00 | ";
  const std::string rule(line.size() + 1, '-');
  EXPECT_EQ(lines_.str(), rule + "\n" + line + "\n" + rule + "\n");
}

// Two steps: forward and backward 1 s and 3 s on rank 0, 2 s and 2 s on rank 1, so 2 s in the mean on both;
// the optimizer 0.5 s each on rank 0, 0.25 s and 0.75 s on rank 1.
TEST_F(MegatronLogTest, TimesOfParts) {
  MegatronLogOptions timed = options();
  timed.interval = 2;
  timed.timing_level = 1;
  timed.prints_memory = false;
  const auto print = [&] {
    lines_.str("");
    MegatronLog printed = log(timed);
    StepReport first = report(1), second = report(2);
    first.parts = {{"batch-generator", {0.1, 0.1}}, {"forward-backward", {1, 2}}, {"optimizer", {0.5, 0.25}}};
    second.parts = {
        {"batch-generator", {0.3, 0.1}}, {"forward-backward", {3, 2}}, {"optimizer", {0.5, 0.75}}};
    printed.step(first);
    printed.step(second);
    const std::string text = lines_.str();
    return text.substr(text.find('\n') + 1);
  };
  EXPECT_EQ(print(),
            "(min, max) time across ranks (ms):\n"
            "    forward-backward ...............................: (2000.00, 2000.00)\n"
            "    optimizer ......................................: (500.00, 500.00)\n");
  timed.timing_level = 2;
  timed.timing_option = TimingOption::kMax;
  EXPECT_EQ(print(),
            "max time across ranks (ms):\n"
            "    batch-generator ................................: 200.00\n"
            "    forward-backward ...............................: 2000.00\n"
            "    optimizer ......................................: 500.00\n");
  timed.timing_level = 1;
  timed.timing_option = TimingOption::kAll;
  EXPECT_EQ(print(),
            "times across ranks (ms):\n"
            "  forward-backward:\n     rank  0: 2000.00\n     rank  1: 2000.00\n"
            "  optimizer:\n     rank  0: 500.00\n     rank  1: 500.00\n");
}

}  // namespace
}  // namespace nadi::inline show
