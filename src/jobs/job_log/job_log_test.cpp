#include "nadi/job_log/job_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "nadi/base/error.h"
#include "nadi/base/temporary_folder.h"
#include "nadi/testing/text_files.h"

namespace nadi::inline jobs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::string iteration(std::int64_t number, double milliseconds, std::string_view loss = "1.050000E+01") {
  return " iteration " + std::to_string(number) +
         "/     500 | consumed samples:           160 | elapsed time per " +
         "iteration (ms): " + std::to_string(milliseconds) +
         " | learning rate: 1.500E-04 | global batch size:    16 | lm " + "loss: " + std::string(loss) +
         " | loss scale: 1.0 | grad norm: 1.234 | number of skipped iterations:   0 | number " +
         "of nan iterations:   0 |\n";
}

const std::string kSettingLines =
    "NODE_RANK: 1\n"
    "MASTER_ADDR: n060\n"
    "GLOBAL_BATCH_SIZE: 16\n"
    "MODEL: gpt2 xl\n"
    "WARNING: not a setting\n"
    "------------------------ arguments ------------------------\n"
    "  micro_batch_size ................................ 4\n"
    "  data_path ....................................... ['a b', 'c']\n"
    "-------------------- end of arguments ---------------------\n";

TEST(JobLog, WhatTheOldScriptsLeave) {
  const TemporaryFolder folder;
  write_text(folder / "n060.out", "NODE_RANK: 0\n");
  write_text(folder / "n061.out",
             kSettingLines + iteration(10, 4540) +
                 "times across ranks (ms):\n"
                 "  forward-compute:\n"
                 "     rank  0: 60.25\n"
                 "     rank  1: 70.00\n" +
                 "[Rank 4] (after 10 iterations) memory (MB) | allocated: 1024.0 | max "
                 "allocated: 2048.5 | reserved: 3000.0 "
                 "| max reserved: 3000.0\n" +
                 iteration(20, 1400, "nan") +
                 " iteration       30/     500 | consumed sam\n iteration       40/     500 | unfinished");
  write_text(folder / "n061.err",
             "/opt/x.py:1: UserWarning: error\nRuntimeError: CUDA error 700\nRuntimeError: CUDA error 701\n");
  write_text(folder / "n061.gpu",
             "[0] NVIDIA A10       | 49'C,   0 % |     0 / 22731 MB |\n"
             "[1] NVIDIA A10       | 51°C,  97 % | 20000 / 22731 MB | user(123M) other(4M)\n"
             "[0] NVIDIA A10       | ?\?'C,  ?? % |    ?? / 22731 MB | user(1M)\n"
             "[1] NVIDIA A10       | 52°C,  99 % | 200\n[1] NVIDIA A10 | unfinished");
  write_text(folder / "job.json", "{}");
  const JobLog log = read_job_log({folder});
  ASSERT_THAT(log.nodes, SizeIs(2));
  EXPECT_EQ(log.nodes[0].name, "n060");
  EXPECT_TRUE(log.nodes[0].err.path.empty());
  const NodeLog& node = log.nodes[1];
  EXPECT_THAT(node.settings, SizeIs(6));
  EXPECT_EQ(node.find_setting("NODE_RANK")->value, "1");
  EXPECT_EQ(node.find_setting("MODEL")->value, "gpt2 xl");
  EXPECT_EQ(node.find_setting("micro_batch_size")->value, "4");
  EXPECT_EQ(node.find_setting("micro_batch_size")->line, 7);
  EXPECT_EQ(node.find_setting("data_path")->value, "['a b', 'c']");
  EXPECT_EQ(node.find_setting("WARNING"), nullptr);
  ASSERT_THAT(node.points, SizeIs(2));
  EXPECT_EQ(node.points[0].last, 10);
  EXPECT_EQ(node.points[0].iterations, 500);
  EXPECT_EQ(node.points[0].mean(), Nanoseconds{4'540'000'000});
  EXPECT_EQ(node.points[0].loss, 10.5);
  EXPECT_EQ(node.points[0].line, 10);
  EXPECT_TRUE(std::isnan(node.points[1].loss.value()));
  EXPECT_EQ(node.points[1].bad_losses, 1);
  EXPECT_EQ(node.out.damaged_lines, 2) << "the cut line, and the one without its newline";
  EXPECT_THAT(node.starts, SizeIs(1));
  ASSERT_THAT(node.memory, SizeIs(1));
  EXPECT_EQ(node.memory[0].rank, 4);
  EXPECT_EQ(node.memory[0].most_allocated, 2_GiB + 512_KiB);
  ASSERT_THAT(node.devices, SizeIs(2));
  EXPECT_THAT(node.devices[0].samples, SizeIs(2));
  EXPECT_EQ(node.devices[0].samples[0].temperature, 49.0F);
  EXPECT_FALSE(node.devices[0].samples[0].process_seen);
  EXPECT_FALSE(node.devices[0].last.temperature);
  EXPECT_FALSE(node.devices[0].last.memory_used);
  EXPECT_EQ(node.devices[0].last.sequence, 1);
  EXPECT_THAT(node.devices[1].samples, SizeIs(1));
  EXPECT_EQ(node.devices[1].last.temperature, 51.0F);
  EXPECT_EQ(node.devices[1].last.utilisation, 97.0F);
  EXPECT_EQ(node.devices[1].last.memory_used, Bytes{20000} * 1024 * 1024);
  EXPECT_TRUE(node.devices[1].last.process_seen);
  EXPECT_EQ(node.gpu.damaged_lines, 1);
  ASSERT_THAT(log.errors, SizeIs(1));
  EXPECT_EQ(log.errors[0].count, 2);
  EXPECT_EQ(log.errors[0].line, 2);
  EXPECT_THAT(log.errors[0].nodes, ElementsAre("n061"));

  const LoggedIteration timers = read_timers(node, node.points[0]);
  EXPECT_EQ(timers.iteration, 10);
  ASSERT_THAT(timers.timers, SizeIs(1));
  EXPECT_EQ(timers.timers[0].ranks[1].time, Nanoseconds{70'000'000});
  EXPECT_THAT(read_timers(node, node.points[1]).timers, IsEmpty());
  write_text(folder / "n061.out", kSettingLines);
  EXPECT_THROW(read_timers(node, node.points[0]), Error);
}

TEST(JobLog, TwoFoldersOfOneRunJoin) {
  const TemporaryFolder folder;
  write_text(folder / "1" / "n060.out", "NODE_RANK: 0\n");
  write_text(folder / "1" / "n060.err", "12: RuntimeError: lost 3\n");
  write_text(folder / "2" / "n10.out", iteration(10, 1000));
  write_text(folder / "2" / "n9.out", "NODE_RANK: 1\n");
  write_text(folder / "2" / "n9.err", "RuntimeError: lost 4\n");
  const JobLog log = read_job_log({folder / "1", folder / "2"});
  ASSERT_THAT(log.nodes, SizeIs(3));
  EXPECT_EQ(log.nodes[0].folder, 0U);
  EXPECT_EQ(log.nodes[1].name, "n9");
  EXPECT_EQ(log.nodes[1].folder, 1U);
  EXPECT_EQ(iteration_node(log), &log.nodes[2]);
  EXPECT_THAT(iterations_of(log), SizeIs(1));
  ASSERT_THAT(log.errors, SizeIs(1)) << "the same error on two nodes of two folders";
  EXPECT_THAT(log.errors[0].nodes, ElementsAre("n060", "n9"));
}

TEST(JobLog, RequeuedRunsHaveStarts) {
  const TemporaryFolder folder;
  write_text(folder / "a.out", "SLURM_RESTART_COUNT: 0\nNODE_RANK: 0\n" + iteration(10, 1000) +
                                   iteration(20, 1000) +
                                   "SLURM_RESTART_COUNT: 1\nSLURM_RESTART_COUNT: 1\nNODE_RANK: 0\n" +
                                   iteration(20, 1100) + iteration(30, 1200));
  write_text(folder / "b.out",
             "NODE_RANK: 0\n" + iteration(10, 1000) + "NODE_RANK: 0\nNODE_RANK: 1\n" + iteration(10, 1000));
  write_text(folder / "c.out",
             iteration(10, 1000) + iteration(20, 1000) + iteration(15, 1000) + iteration(25, 900));
  const JobLog log = read_job_log({folder});
  ASSERT_THAT(log.nodes[0].starts, SizeIs(2));
  EXPECT_EQ(log.nodes[0].starts[1].restarts, 1);
  EXPECT_EQ(log.nodes[0].starts[1].line, 5);
  EXPECT_EQ(log.nodes[0].points[2].start, 1);
  EXPECT_THAT(log.nodes[1].starts, SizeIs(2)) << "by the settings printed again";
  EXPECT_THAT(log.nodes[2].starts, SizeIs(2)) << "by a number that went back";
  const std::vector<IterationPoint> points = iterations_of(JobLog{.nodes = {log.nodes[0]}});
  ASSERT_THAT(points, SizeIs(3)) << "10, 20 and 30";
  EXPECT_EQ(points[1].mean(), Nanoseconds{1'100'000'000}) << "20 as the later start did it";
}

TEST(JobLog, OwnTrainingLines) {
  const TemporaryFolder folder;
  write_text(folder / "n.out",
             "step 1/100, epoch 1: loss 9.5000, lr 1.000e-04, grad norm 1.250, 1234 tokens/s, 0:12 left\n"
             "step 10: validation loss 3.2500, the best so far\n"
             "step 20/100, epoch 1: loss nan, lr 2.000e-04, 1300 tokens/s, 10.5 TFLOP/s per GPU, MFU 12.0%, "
             "0:10 left\n"
             "step 30/100, epoch 1: loss 3.1\n"
             "step 40/100, epoch 1: loss 3.0000, lr 2.000e-04, 0.2500 s/step, 1300 tokens/s, 10.5 TFL\n"
             "step 3/4 of the installation\n"
             "done after 100 steps: loss 9.5 to 3.0\n");
  const JobLog log = read_job_log({folder});
  const NodeLog& node = log.nodes[0];
  ASSERT_THAT(node.points, SizeIs(3));
  EXPECT_EQ(node.points[0].loss, 9.5);
  EXPECT_EQ(node.points[0].tokens_per_second, 1234);
  EXPECT_EQ(node.points[0].grad_norm, 1.25);
  EXPECT_EQ(node.points[0].mean(), std::nullopt);
  EXPECT_EQ(node.points[0].left, Nanoseconds{12'000'000'000});
  EXPECT_EQ(node.points[1].tflops_per_rank, 10.5);
  EXPECT_EQ(node.points[1].bad_losses, 1);
  EXPECT_EQ(node.points[2].last, 40) << "of 30 not even the loss is whole";
  EXPECT_EQ(node.points[2].mean(), Nanoseconds{250'000'000});
  EXPECT_EQ(node.points[2].tokens_per_second, 1300);
  EXPECT_EQ(node.points[2].tflops_per_rank, std::nullopt);
  EXPECT_EQ(node.points[2].left, std::nullopt);
  ASSERT_THAT(node.validations, SizeIs(1));
  EXPECT_EQ(node.validations[0].loss, 3.25);
  EXPECT_EQ(node.out.damaged_lines, 2);
  EXPECT_TRUE(node.done);
}

// Every cut of a line: what stands before the last bar is read, and the line is counted.
TEST(JobLog, CutLinesOfIterationsGiveWhatIsWhole) {
  const std::string line = iteration(20, 1400.5, "1.025000E+01");
  for (std::size_t cut = 1; cut < line.size(); ++cut) {
    const TemporaryFolder folder;
    const std::string part = line.substr(0, cut);
    write_text(folder / "n.out", iteration(10, 4540) + part + "\n" + iteration(30, 1500));
    const NodeLog node = read_job_log({folder}).nodes.at(0);
    const auto whole = [&](std::string_view field) {
      const std::size_t at = part.find(field);
      return at != std::string::npos && part.find('|', at) != std::string::npos;
    };
    const bool starts = part.find("iteration ") != std::string::npos;
    EXPECT_EQ(node.out.damaged_lines, starts && !whole("number of nan") ? 1 : 0) << part;
    ASSERT_THAT(node.points, SizeIs(whole("elapsed") ? 3 : 2)) << part;
    if (!whole("elapsed")) continue;
    const IterationPoint& point = node.points[1];
    EXPECT_EQ(point.last, 20);
    EXPECT_EQ(point.mean(), Nanoseconds{1'400'500'000});
    EXPECT_EQ(point.loss, whole("lm loss") ? std::optional(10.25) : std::nullopt) << part;
    EXPECT_EQ(point.learning_rate.has_value(), whole("learning rate")) << part;
    EXPECT_EQ(point.grad_norm, whole("grad norm") ? std::optional(1.234) : std::nullopt) << part;
    EXPECT_EQ(point.global_batch, whole("global batch") ? 16 : 0) << part;
  }
}

TEST(JobLog, TwoWritersInOneLine) {
  const TemporaryFolder folder;
  const std::string first = iteration(10, 4540, "1.050000E+01");
  write_text(folder / "n.out", first.substr(0, first.find("| grad norm")) + iteration(20, 1400, "9.5E+00") +
                                   first.substr(0, first.find("learning")) + iteration(30, 1300, "9.0E+00"));
  const NodeLog node = read_job_log({folder}).nodes.at(0);
  // 10 is cut and 20 whole in the first line; in the second, 10 again is cut and 30 whole.
  ASSERT_THAT(node.points, SizeIs(4));
  EXPECT_EQ(node.points[0].last, 10);
  EXPECT_EQ(node.points[0].loss, 10.5);
  EXPECT_EQ(node.points[0].mean(), Nanoseconds{4'540'000'000});
  EXPECT_EQ(node.points[1].last, 20);
  EXPECT_EQ(node.points[1].mean(), Nanoseconds{1'400'000'000});
  EXPECT_EQ(node.points[1].loss, 9.5);
  EXPECT_EQ(node.points[2].loss, std::nullopt) << "not that of 30";
  EXPECT_EQ(node.points[3].last, 30);
  EXPECT_EQ(node.out.damaged_lines, 2);
}

TEST(JobLog, TheLastLineMayLackItsNewline) {
  const TemporaryFolder folder;
  std::string whole = iteration(20, 1400);
  whole.pop_back();
  write_text(folder / "whole.out", iteration(10, 4540) + whole);
  write_text(folder / "cut.out", iteration(10, 4540) + whole.substr(0, whole.find("lm loss")));
  write_text(folder / "setting.out", "NODE_RANK: 1\nWORLD_SIZE: 1");
  const JobLog log = read_job_log({folder});
  EXPECT_THAT(log.find_node("whole")->points, SizeIs(2));
  EXPECT_EQ(log.find_node("whole")->out.damaged_lines, 0);
  ASSERT_THAT(log.find_node("cut")->points, SizeIs(2));
  EXPECT_EQ(log.find_node("cut")->points[1].loss, std::nullopt);
  EXPECT_EQ(log.find_node("cut")->out.damaged_lines, 1);
  EXPECT_EQ(log.find_node("setting")->find_setting("WORLD_SIZE"), nullptr) << "it may have been 16";
}

TEST(JobLog, LongSeriesAreMergedAndSumsStay) {
  const TemporaryFolder folder;
  std::string text;
  // 10,000 lines of 1 ms, 2 ms, 3 ms, 1 ms ...: 1 + 3333 * 6 ms in all.
  constexpr std::int64_t kLines = 10'000;
  for (std::int64_t i = 1; i <= kLines; ++i) text += iteration(i, static_cast<double>(1 + (i - 1) % 3));
  write_text(folder / "n.out", text);
  const NodeLog node = read_job_log({folder}).nodes.at(0);
  EXPECT_LE(node.points.size(), kMostPoints);
  EXPECT_GT(node.points.size(), kMostPoints / 3);
  std::int64_t lines = 0;
  Nanoseconds total;
  for (std::size_t i = 0; i < node.points.size(); ++i) {
    const IterationPoint& point = node.points[i];
    if (i < kFirstPoints) {
      EXPECT_EQ(point.lines, 1) << i;
    }
    EXPECT_EQ(point.first, lines + 1);
    EXPECT_EQ(point.last, lines + point.lines);
    lines += point.lines;
    total += point.total;
    EXPECT_GE(point.least, Nanoseconds{1'000'000});
    EXPECT_LE(point.most, Nanoseconds{3'000'000});
  }
  EXPECT_EQ(lines, kLines);
  EXPECT_EQ(total, Nanoseconds{(1 + 3333 * 6) * 1'000'000LL});
  EXPECT_EQ(node.newest->last, kLines);
  EXPECT_EQ(read_timers(node, node.points.back()).iteration, kLines);
}

TEST(JobLog, RubbishAndLongLines) {
  const TemporaryFolder folder;
  std::string rubbish;
  for (int i = 0; i < 100'000; ++i) rubbish += static_cast<char>(i * 7919 % 251);
  write_text(folder / "n.out",
             rubbish + "\n" + std::string(5'000'000, 'z') + "\n" + iteration(10, 1000) + rubbish);
  write_text(folder / "n.err", rubbish + rubbish);
  write_text(folder / "n.gpu", rubbish + rubbish);
  const NodeLog node = read_job_log({folder}).nodes.at(0);
  EXPECT_THAT(node.points, SizeIs(1));
  EXPECT_EQ(node.out.long_lines, 1);
}

TEST(JobLog, FoldersThatAreNone) {
  const TemporaryFolder folder;
  EXPECT_THROW(read_job_log({folder / "missing"}), Error);
  EXPECT_THROW(read_job_log({folder}), Error) << "no logs in it";
  std::filesystem::create_directories(folder / "x.out");
  const JobLog log = read_job_log({folder});
  EXPECT_EQ(log.nodes.at(0).out.problem, "this is no file");
}

}  // namespace
}  // namespace nadi::inline jobs
