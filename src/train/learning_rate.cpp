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
    DecayEntry{Decay::kInverseSquareRoot, "inverse-square-root", "down as 1 / sqrt(steps done)"},
};

}  // namespace

std::span<const DecayEntry> decays() {
  return kDecays;
}

std::string_view to_string(Decay decay) {
  return kDecays[static_cast<std::size_t>(decay)].name;
}

double learning_rate_of(const LearningRate& rate, std::int64_t step) {
  const std::int64_t done = step - 1;
  const std::int64_t risen = rate.late_warmup ? done : step;
  if (risen <= rate.warmup_steps && rate.warmup_steps > 0)
    return rate.start +
           (rate.peak - rate.start) * static_cast<double>(risen) / static_cast<double>(rate.warmup_steps);
  const std::int64_t end = rate.decay_steps > 0 ? rate.decay_steps : rate.total_steps;
  // The first step after the warm-up has done 0 of the way down.
  const auto way = static_cast<double>(std::max<std::int64_t>(end - rate.warmup_steps, 1));
  const double part = std::clamp(static_cast<double>(done - rate.warmup_steps) / way, 0.0, 1.0);
  switch (rate.decay) {
    case Decay::kLinear:
      return rate.minimum + (rate.peak - rate.minimum) * (1 - part);
    case Decay::kCosine:
      return rate.minimum + (rate.peak - rate.minimum) * 0.5 * (1 + std::cos(std::numbers::pi * part));
    case Decay::kConstant:
      return rate.peak;
    case Decay::kInverseSquareRoot: {
      if (done > end) return rate.minimum;
      const auto warm = static_cast<double>(std::max<std::int64_t>(rate.warmup_steps, 1));
      return std::max(rate.minimum,
                      rate.peak * std::sqrt(warm / static_cast<double>(std::max<std::int64_t>(done, 1))));
    }
  }
  unreachable();
}

}  // namespace nadi
