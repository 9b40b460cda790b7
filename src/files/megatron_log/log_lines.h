// The lines of Megatron-LM's training log: the numbers in a line, and the line as text.
//
// There are two forms of an iteration's line: the older one, and the newer one with throughput, which starts
// with the date and prints more digits of the learning rate. Lines end without a newline.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nadi/base/units.h"

namespace nadi::inline files {

// Means over the iterations since the line before.
struct IterationLine {
  std::int64_t iteration = 0;
  std::int64_t iterations = 0;  // of the whole run
  std::int64_t consumed_samples = 0;
  double seconds_per_iteration = 0;
  // The newer form has both.
  std::optional<std::string> date = {};
  std::optional<double> tflops_per_rank = {};
  double learning_rate = 0;
  std::int64_t global_batch = 0;
  std::optional<double> loss = {};  // nothing when all iterations were skipped
  double loss_scale = 1;
  double grad_norm = 0;
  std::int64_t skipped = 0;
  std::int64_t nan = 0;
};
std::string to_text(const IterationLine& line);

// Memory of a rank, after its first printed iteration.
struct MemoryLine {
  std::int64_t rank = 0;
  std::int64_t iteration = 0;
  Bytes allocated = {};  // Nadi allocates once, so the maximum and the reserved memory are the same
};
std::string to_text(const MemoryLine& line);

// Three lines of text: the numbers between two rules.
struct ValidationLine {
  std::int64_t iteration = 0;
  double loss = 0;
};
std::string to_text(const ValidationLine& line);

// Which ranks' times a block of timers shows: the slowest; the fastest and the slowest; all.
enum class TimingOption : std::uint8_t { kMax, kMinMax, kAll };

// A heading and a line for each timer; with kAll a line for each timer and rank.
struct TimerBlock {
  struct Timer {
    std::string name;             // "forward-backward"
    std::vector<double> seconds;  // by rank
  };
  TimingOption option = TimingOption::kMinMax;
  std::vector<Timer> timers = {};
};
std::string to_text(const TimerBlock& block);

}  // namespace nadi::inline files
