// The learning rate of each step: up in a straight line for the first steps, then constant, or down in a
// straight line or half a cosine wave.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace nadi {

enum class Decay : std::uint8_t { kLinear, kCosine, kConstant };
struct DecayEntry {
  Decay decay;
  std::string_view name;
  std::string_view summary;
};
std::span<const DecayEntry> decays();
std::string_view to_string(Decay decay);  // "linear", "cosine", "constant"

struct LearningRate {
  Decay decay = Decay::kLinear;
  double peak = 5e-5;
  double minimum = 0;             // where a decay ends
  std::int64_t warmup_steps = 0;  // step s of these has s / warmup_steps of the peak
  std::int64_t total_steps = 1;   // the decay would reach its end with the step after the last
};

// Of step `step`, counted from 1. Steps beyond the total have the minimum (the peak when constant).
double learning_rate_of(const LearningRate& rate, std::int64_t step);

}  // namespace nadi
