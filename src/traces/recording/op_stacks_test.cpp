#include "nadi/recording/op_stacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "nadi/recording/execution_for_tests.h"

namespace nadi::inline traces {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) result.push_back(line);
  return result;
}

// The words of the rows, headings and rules left out.
std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

TEST(OpStacks, AddsUpByKindAndByLayer) {
  const Program program = program_for_tests();
  // Two steps with a product of 4 us and three additions of 1.5 us each.
  std::array steps{execute_for_tests(program, 0, Nanoseconds{}),
                   execute_for_tests(program, 1, Nanoseconds{20'000})};
  for (ExecutedStep& step : steps) {
    step.kernels[0].start = step.start;
    step.kernels[0].end = step.start + Nanoseconds{4'000};
  }
  const std::vector<std::string> all = lines(op_stacks(program, steps));
  ASSERT_EQ(all.size(), 5u + 6u + 1u + 8u);
  EXPECT_EQ(all[0], "# Time in kernels by kind of op, then by layer and op (layer;op), of 2 recorded steps.");
  // 2 * 7.25 us from start to end.
  EXPECT_THAT(all[3], StartsWith("# Steps took 14.500 us together"));
  EXPECT_THAT(words(all[5]), ElementsAre("op", "calls", "time", "on", "the", "CPU", "time", "on", "the",
                                         "GPU", "mean", "share", "%", "FLOP/s", "bytes/s"));
  // Six additions of 32 numbers in 9 us of 17: 192 / 9 us = 21.3 MFLOP/s. In a step, two of them read two
  // tensors of 128 bytes and one adds a tensor to itself, which counts once; each writes one: 2 * (384 + 256
  // + 384) B / 9 us = 227.6 MB/s.
  EXPECT_THAT(words(all[7]), ElementsAre("add", "6", "cpu_time_total=9.000", "cuda_time_total=0.000", "1.500",
                                         "52.94", "21.3", "MFLOP/s", "227.6", "MB/s"));
  // 512 FLOP in 4 us each; 512 B in 4 us.
  EXPECT_THAT(words(all[8]), ElementsAre("matmul", "2", "cpu_time_total=8.000", "cuda_time_total=0.000",
                                         "4.000", "47.06", "128.0", "MFLOP/s", "128.0", "MB/s"));
  EXPECT_THAT(words(all[10]), testing::Contains("cpu_time_total=17.000"));
  EXPECT_THAT(all[10], StartsWith("total "));
  EXPECT_THAT(words(all[10])[5], "100.00");
  EXPECT_THAT(words(all[14]), testing::Contains("model.h.0.attn;matmul"));
  // Three rows of the same time are in the order of their names.
  EXPECT_THAT(all[15], StartsWith("head;add "));
  EXPECT_THAT(all[16], StartsWith("model.h.0.attn;add "));
  EXPECT_THAT(all[17], StartsWith("model.h.0.mlp;add "));
  // Every line of a table is as long as its rule.
  for (std::size_t i = 5; i <= 10; ++i) EXPECT_EQ(all[i].size(), all[6].size()) << all[i];
}

TEST(OpStacks, TimesOfAGpuAreInItsColumn) {
  const Program program = program_for_tests();
  ExecutedStep step = execute_for_tests(program, 0, Nanoseconds{});
  step.device = {.kind = ExecutedDevice::Kind::kCuda};
  const std::string text = op_stacks(program, std::span(&step, 1));
  EXPECT_THAT(text, HasSubstr("of 1 recorded step."));
  EXPECT_THAT(words(lines(text)[7]), ElementsAre("add", "3", "cpu_time_total=-", "cuda_time_total=4.500",
                                                 "1.500", "75.00", "21.3", "MFLOP/s", "227.6", "MB/s"));
}

// As `grep cuda_time_total` of the file: rows, and neither headings nor explanations.
TEST(OpStacks, EveryRowOfAnOpNamesBothTimes) {
  const Program program = program_for_tests();
  const ExecutedStep step = execute_for_tests(program, 0, Nanoseconds{});
  std::vector<std::string> found;
  for (const std::string& line : lines(op_stacks(program, std::span(&step, 1))))
    if (line.find("cuda_time_total") != std::string::npos) found.push_back(line);
  // Two kinds of op and their total, four pairs of layer and op and theirs.
  ASSERT_EQ(found.size(), 3u + 5u);
  for (const std::string& line : found) {
    EXPECT_THAT(line, HasSubstr(" cpu_time_total="));
    EXPECT_THAT(line, HasSubstr(" cuda_time_total="));
  }
}

// Calls of 1.5 us, transfers of 20 us, 0.25 us between (kineto_writer_test.cpp has them all): the all-reduce
// lasts from 2.25 to 22.25 us, in which the sum takes 1.5.
TEST(OpStacks, CommunicationHasATableOfItsOwn) {
  const Program program = communicating_program_for_tests();
  const std::array steps{execute_overlapped_for_tests(program, 0, Nanoseconds{}),
                         execute_overlapped_for_tests(program, 1, Nanoseconds{100'000})};
  const std::vector<std::string> all = lines(op_stacks(program, steps));
  // Five lines of explanation, two tables of two rows, and four and three lines for communication.
  ASSERT_EQ(all.size(), 5u + 6u + 1u + 6u + 1u + 4u + 7u);
  EXPECT_THAT(words(all[7]), testing::Contains("add"));
  EXPECT_THAT(words(all[8]), testing::Contains("matmul"));
  EXPECT_THAT(words(all[10]), ElementsAre("total", "4", "cpu_time_total=6.000", "cuda_time_total=0.000",
                                          "1.500", "100.00", testing::_, testing::_, testing::_, testing::_));
  const std::size_t table = all.size() - 7;
  EXPECT_THAT(words(all[table]),
              ElementsAre("group;op", "phase", "calls", "bytes", "time_total", "algbw", "GB/s", "busbw",
                          "GB/s", "under_way", "exposed", "exposed", "%"));
  // 256 bytes in 40 us; 2 * (20 - 1.5) us of 2 * 20 exposed.
  EXPECT_THAT(words(all[table + 2]), ElementsAre("dp;all_reduce", "backward", "2", "256", "40.000", "0.006",
                                                 "0.006", "40.000", "37.000", "92.50"));
  EXPECT_THAT(all[table + 3], StartsWith("pp;send "));
  EXPECT_THAT(all[table + 4], StartsWith("pp;receive "));
  // From 0.25 to 24.25 us at least one is under way; 3 us of that the rank computes.
  EXPECT_THAT(words(all[table + 6]),
              ElementsAre("total", "6", "768", "120.000", "0.006", "0.006", "48.000", "42.000", "87.50"));
  for (std::size_t i = table; i < all.size(); ++i) EXPECT_EQ(all[i].size(), all[table + 1].size()) << all[i];
}

TEST(OpStacks, OfNothingAreEmptyTables) {
  const std::vector<std::string> all = lines(op_stacks(program_for_tests(), {}));
  ASSERT_EQ(all.size(), 5u + 4u + 1u + 4u);
  EXPECT_THAT(words(all[8]), ElementsAre("total", "0", "cpu_time_total=0.000", "cuda_time_total=0.000",
                                         "0.000", "0.00", "-", "-"));
}

}  // namespace
}  // namespace nadi::inline traces
