#include "nadi/megatron_log/log_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "nadi/base/error.h"
#include "nadi/megatron_log/log_lines.h"

namespace nadi::inline files {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::string_view kLog =
    "NODE_RANK: 1\n"
    "PIPELINE_MP_SIZE: 2\n"
    "MODEL: gpt2-xl\n"
    "using world size: 4, data-parallel-size: 2, tensor-model-parallel size: 1\n"
    "------------------------ arguments ------------------------\n"
    "  data_parallel_size .............................. 2\n"
    "  global_batch_size ............................... 16\n"
    "  micro_batch_size ................................ 2\n"
    "  virtual_pipeline_model_parallel_size ............ None\n"
    "(min, max) time across ranks (ms):\n"
    "    model-and-optimizer-setup ......................: (1.00, 2.00)\n"
    " iteration       10/     500 | consumed samples:           160 | elapsed time per iteration (ms): 250.5 "
    "| learning rate: 1.500E-04 | global batch size:    16 | lm loss: 1.050000E+01 | loss scale: 1.0 | grad "
    "norm: 1.234 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
    "times across ranks (ms):\n"
    "  forward-compute:\n"
    "     rank  0: 60.25\n"
    "     rank  1: 70.00\n"
    "  optimizer:\n"
    "     rank  0: 5.00\n"
    "     rank  1: 6.00\n"
    "a line of another program\n";

TEST(LogReader, IterationsTimersAndSettings) {
  const TrainingLog log = parse_training_log(kLog, "node.out");
  EXPECT_EQ(log.settings.pipeline_parallel, 2);
  EXPECT_EQ(log.settings.data_parallel, 2);
  EXPECT_EQ(log.settings.global_batch, 16);
  EXPECT_EQ(log.settings.micro_batch, 2);
  EXPECT_EQ(log.settings.virtual_stages, std::nullopt);
  EXPECT_EQ(log.settings.model, "gpt2-xl");
  EXPECT_EQ(log.damaged_lines, 0);
  ASSERT_THAT(log.iterations, SizeIs(1));
  const LoggedIteration& iteration = log.iterations[0];
  EXPECT_EQ(iteration.iteration, 10);
  EXPECT_EQ(iteration.iterations, 500);
  EXPECT_EQ(iteration.time, Nanoseconds{250'500'000});
  EXPECT_EQ(iteration.global_batch, 16);
  EXPECT_EQ(iteration.loss, 10.5);
  ASSERT_THAT(iteration.timers, SizeIs(2)) << "the block before the first iteration is of no iteration";
  EXPECT_EQ(iteration.timers[0].name, "forward-compute");
  ASSERT_THAT(iteration.timers[0].ranks, SizeIs(2));
  EXPECT_EQ(iteration.timers[0].ranks[0].time, Nanoseconds{60'250'000});
  EXPECT_EQ(iteration.find("optimizer")->ranks[1].time, Nanoseconds{6'000'000});
  EXPECT_EQ(iteration.find("backward-compute"), nullptr);
}

TEST(LogReader, OtherFormsOfBlocks) {
  const std::string line = " iteration 1/ 2 | elapsed time per iteration (ms): 10.0 |\n";
  const TrainingLog extremes =
      parse_training_log(line +
                             "0: (min, max) time across ranks (ms):\n"
                             "0:     forward-backward ...............: (1.50, 2.50)\n",
                         "a");
  ASSERT_THAT(extremes.iterations[0].timers, SizeIs(1)) << "a label of srun in front";
  EXPECT_EQ(extremes.iterations[0].timers[0].least, Nanoseconds{1'500'000});
  EXPECT_EQ(extremes.iterations[0].timers[0].most, Nanoseconds{2'500'000});
  const TrainingLog most =
      parse_training_log(line + "max time across ranks (ms):\n    optimizer ....: 3.25\n", "b");
  EXPECT_EQ(most.iterations[0].find("optimizer")->most, Nanoseconds{3'250'000});
  const TrainingLog old =
      parse_training_log(line + "time (ms) | forward: 1.25 | backward-params-all-reduce: 2.00 |\n", "c");
  EXPECT_EQ(old.iterations[0].find("forward")->most, Nanoseconds{1'250'000});
  EXPECT_EQ(old.iterations[0].find("backward-params-all-reduce")->most, Nanoseconds{2'000'000});
}

TEST(LogReader, ListsOfCalls) {
  const TrainingLog log = parse_training_log(
      " iteration 10/ 20 | elapsed time per iteration (ms): 10.0 |\n"
      "times across ranks (ms):\n"
      "  forward-compute:\n"
      "     rank  0: 2.00\n"
      " forward-compute start time lst:  1690000000.123456789 1690000001.5\n"
      " forward-compute end time lst:  1690000000.2 1690000001.75\n"
      "     rank  1: 2.00\n"
      " forward-compute start time lst:  1690000000.1\n"
      " forward-compute end time lst:  \n",
      "node.out");
  const LoggedTimer& timer = log.iterations.at(0).timers.at(0);
  EXPECT_THAT(timer.ranks[0].starts,
              ElementsAre(Nanoseconds{1'690'000'000'123'456'789}, Nanoseconds{1'690'000'001'500'000'000}));
  EXPECT_THAT(timer.ranks[0].ends,
              ElementsAre(Nanoseconds{1'690'000'000'200'000'000}, Nanoseconds{1'690'000'001'750'000'000}));
  EXPECT_THAT(timer.ranks[1].starts, IsEmpty()) << "a start without an end";
  EXPECT_EQ(log.damaged_lines, 1);
}

TEST(LogReader, ReadsWhatIsWritten) {
  std::string text = to_text(IterationLine{.iteration = 3,
                                           .iterations = 9,
                                           .seconds_per_iteration = 0.5,
                                           .date = "2026-01-31 09:05:00",
                                           .tflops_per_rank = 52.3,
                                           .global_batch = 8});
  text += "\n" + to_text(TimerBlock{.option = TimingOption::kAll,
                                    .timers = {{.name = "forward-backward", .seconds = {0.25, 0.5}}}});
  const TrainingLog log = parse_training_log(text, "own");
  ASSERT_THAT(log.iterations, SizeIs(1));
  EXPECT_EQ(log.iterations[0].time, Nanoseconds{500'000'000});
  EXPECT_EQ(log.iterations[0].tflops_per_rank, 52.3);
  EXPECT_EQ(log.iterations[0].find("forward-backward")->ranks[1].time, Nanoseconds{500'000'000});
}

TEST(LogReader, CountsDamagedLines) {
  const TrainingLog log = parse_training_log(
      " iteration x/ 2 | elapsed time per iteration (ms): 10.0 |\n"
      " iteration 1/ 2 | elapsed time per iteration (ms): -1 |\n"
      " iteration 1/ 2 | elapsed time per iteration (ms): 5.0 |\n"
      "times across ranks (ms):\n"
      "  forward-compute:\n"
      "     rank  0: 1e300\n"
      "     rank  1: 2.00\n"
      "     rank  1: 2.00\n",
      "bad");
  EXPECT_THAT(log.iterations, SizeIs(1));
  EXPECT_EQ(log.damaged_lines, 4);
  EXPECT_THAT(log.iterations[0].timers[0].ranks, SizeIs(1));
}

// Whatever is cut off or changed: it is read without an error, and nothing is read that was not there.
TEST(LogReader, DamagedAtRandom) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string text(kLog.substr(0, random() % kLog.size()));
    for (int i = 0; i < 5 && !text.empty(); ++i) text[random() % text.size()] = static_cast<char>(random());
    const TrainingLog log = parse_training_log(text, "cut");
    EXPECT_LE(log.iterations.size(), 1U);
    for (const LoggedIteration& iteration : log.iterations) EXPECT_LE(iteration.timers.size(), 4U);
  }
}

TEST(LogReader, MergesTheLogsOfNodes) {
  std::vector<TrainingLog> logs;
  logs.push_back(parse_training_log("PIPELINE_MP_SIZE: 4\n", "n0"));
  logs.push_back(parse_training_log(kLog, "n1"));
  logs.push_back(parse_training_log(" iteration 5/ 9 | elapsed time per iteration (ms): 1.0 |\n", "n2"));
  const TrainingLog all = merged(std::move(logs));
  EXPECT_EQ(all.settings.pipeline_parallel, 4);
  EXPECT_EQ(all.settings.micro_batch, 2);
  ASSERT_THAT(all.iterations, SizeIs(2));
  EXPECT_EQ(all.iterations[0].iteration, 5);
  EXPECT_EQ(all.iterations[1].iteration, 10);
}

}  // namespace
}  // namespace nadi::inline files
