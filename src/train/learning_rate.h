// The learning rate of each step: up in a straight line for the first steps, then constant, or down as the
// decay says.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace nadi {

enum class Decay : std::uint8_t { kLinear, kCosine, kConstant, kInverseSquareRoot };
struct DecayEntry {
  Decay decay;
  std::string_view name;
  std::string_view summary;
};
std::span<const DecayEntry> decays();
std::string_view to_string(Decay decay);  // "linear", "cosine", "constant", "inverse-square-root"

struct LearningRate {
  Decay decay = Decay::kLinear;
  double peak = 5e-5;
  double minimum = 0;             // where a decay ends
  double start = 0;               // where the warm-up begins
  std::int64_t warmup_steps = 0;  // step s of these has done s / warmup_steps of the way from start to peak
  std::int64_t decay_steps =
      0;  // in place of total_steps, where the decay ends before or after the run; 0: not
  std::int64_t total_steps = 1;  // the decay would reach its end with the step after the last
  // Step s of the warm-up has done (s - 1) / warmup_steps of the way, the first one none of it: Megatron's
  // counting. After the warm-up there is no difference.
  bool late_warmup = false;
};

// Of step `step`, counted from 1. Steps beyond the end of the decay have the minimum (the peak when
// constant).
double learning_rate_of(const LearningRate& rate, std::int64_t step);

}  // namespace nadi
