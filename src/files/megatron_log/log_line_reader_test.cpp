#include "nadi/megatron_log/log_line_reader.h"

#include <gtest/gtest.h>

#include <cmath>

namespace nadi::inline files {
namespace {

TEST(LogLineReader, IterationLinesAreReadAsWritten) {
  for (const bool newer : {false, true}) {
    IterationLine line{.iteration = 20,
                       .iterations = 500,
                       .consumed_samples = 320,
                       .seconds_per_iteration = 1.4,
                       .learning_rate = 1.5e-4,
                       .global_batch = 16,
                       .loss = 9.25,
                       .loss_scale = 4096,
                       .grad_norm = 1.25,
                       .skipped = 2,
                       .nan = 1};
    if (newer) {
      line.date = "2026-01-31 09:05:00";
      line.tflops_per_rank = 52.5;
    }
    const auto read = parse_iteration_line("3: " + to_text(line));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->iteration, 20);
    EXPECT_EQ(read->iterations, 500);
    EXPECT_EQ(read->consumed_samples, 320);
    EXPECT_DOUBLE_EQ(read->seconds_per_iteration, 1.4);
    EXPECT_EQ(read->date, line.date);
    EXPECT_EQ(read->tflops_per_rank, line.tflops_per_rank);
    EXPECT_EQ(read->learning_rate, 1.5e-4);
    EXPECT_EQ(read->global_batch, 16);
    EXPECT_EQ(read->loss, 9.25);
    EXPECT_EQ(read->loss_scale, 4096);
    EXPECT_EQ(read->grad_norm, 1.25);
    EXPECT_EQ(read->skipped, 2);
    EXPECT_EQ(read->nan, 1);
  }
}

TEST(LogLineReader, CutLinesSayNothingOfWhatIsCut) {
  const std::string line =
      to_text(IterationLine{.iteration = 20, .iterations = 500, .seconds_per_iteration = 1.4, .loss = 9.25});
  const std::size_t timed = line.find('|', line.find("(ms):")) + 1,
                    lost = line.find('|', line.find("lm loss:")) + 1;
  for (std::size_t cut = 0; cut < line.size(); ++cut) {
    const auto read = parse_iteration_line(std::string_view(line).substr(0, cut));
    ASSERT_EQ(read.has_value(), cut >= timed) << cut;
    if (!read) continue;
    EXPECT_EQ(read->seconds_per_iteration, 1.4);
    EXPECT_EQ(read->loss.has_value(), cut >= lost) << cut;
  }
}

TEST(LogLineReader, LossesThatAreNoNumbers) {
  const auto line =
      parse_iteration_line(" iteration 1/ 2 | elapsed time per iteration (ms): 1.0 | lm loss: nan |");
  ASSERT_TRUE(line && line->loss);
  EXPECT_TRUE(std::isnan(*line->loss));
  EXPECT_FALSE(parse_iteration_line(" iteration 1/ 2 | elapsed time per iteration (ms): nan | lm loss: 1 |"));
  EXPECT_FALSE(parse_iteration_line(" iteration 1/ 2 | elapsed time per iteration (ms): -1.0 |"));
}

TEST(LogLineReader, MemoryAndValidation) {
  const auto memory = parse_memory_line(
      "[Rank 12] (after 10 iterations) memory (MB) | allocated: 1.0 | max allocated: 2.5 | reserved: 4.0 | "
      "max reserved: 8.0");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->rank, 12);
  EXPECT_EQ(memory->iteration, 10);
  EXPECT_EQ(memory->allocated, 1_MiB);
  EXPECT_EQ(memory->most_allocated, 2560_KiB);
  EXPECT_EQ(memory->reserved, 4_MiB);
  EXPECT_EQ(memory->most_reserved, 8_MiB);
  EXPECT_FALSE(parse_memory_line("[Rank 12] (after 10 iterations) memory (MB) | allocated: 1.0 | max alloc"));
  const auto validation =
      parse_validation_line(" validation loss at iteration 100 | lm loss value: 3.250000E+00 | lm loss PPL");
  ASSERT_TRUE(validation);
  EXPECT_EQ(validation->iteration, 100);
  EXPECT_EQ(validation->loss, 3.25);
}

}  // namespace
}  // namespace nadi::inline files
