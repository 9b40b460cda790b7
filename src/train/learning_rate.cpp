#include "nadi/train/learning_rate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "nadi/base/error.h"

namespace nadi {
namespace {

constexpr std::array kDecays{
    DecayEntry{Decay::kLinear, "linear", "down in a straight line"},
    DecayEntry{Decay::kCosine, "cosine", "down half a cosine wave"},
    DecayEntry{Decay::kConstant, "constant", "stays at its peak"},
};

}  // namespace

std::span<const DecayEntry> decays() {
  return kDecays;
}

std::string_view to_string(Decay decay) {
  return kDecays[static_cast<std::size_t>(decay)].name;
}

double learning_rate_of(const LearningRate& rate, std::int64_t step) {
  if (step <= rate.warmup_steps)
    return rate.peak * static_cast<double>(step) / static_cast<double>(rate.warmup_steps);
  // The first step after the warm-up has done 0 of the way down.
  const auto way = static_cast<double>(std::max<std::int64_t>(rate.total_steps - rate.warmup_steps, 1));
  const double done = std::clamp(static_cast<double>(step - 1 - rate.warmup_steps) / way, 0.0, 1.0);
  switch (rate.decay) {
    case Decay::kLinear:
      return rate.minimum + (rate.peak - rate.minimum) * (1 - done);
    case Decay::kCosine:
      return rate.minimum + (rate.peak - rate.minimum) * 0.5 * (1 + std::cos(std::numbers::pi * done));
    case Decay::kConstant:
      return rate.peak;
  }
  unreachable();
}

}  // namespace nadi
