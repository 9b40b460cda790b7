#include "nadi/graph/learning_rate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "nadi/base/error.h"

namespace nadi::inline describe {
namespace {

constexpr std::array kDecays{
    DecayEntry{Decay::kLinear, "linear", "down in a straight line"},
    DecayEntry{Decay::kCosine, "cosine", "down half a cosine wave"},
    DecayEntry{Decay::kConstant, "constant", "stays at its peak"},
    DecayEntry{Decay::kInverseSquareRoot, "inverse-square-root", "down as 1 / sqrt(steps done)"},
    DecayEntry{Decay::kWarmupStableDecay, "WSD", "stays at its peak and falls at the end"},
};
constexpr std::array<std::string_view, 4> kStableDecays{"exponential", "linear", "cosine", "minus_sqrt"};
constexpr std::array<std::string_view, 3> kGrowths{"constant", "linear", "cosine"};

// 1 at the start of a way, 0 at its end.
double half_wave(double part) {
  return 0.5 * (1 + std::cos(std::numbers::pi * part));
}

double left_of(StableDecay decay, double part) {
  switch (decay) {
    case StableDecay::kExponential:
      return 2 * std::pow(0.5, part) - 1;
    case StableDecay::kLinear:
      return 1 - part;
    case StableDecay::kCosine:
      return half_wave(part);
    case StableDecay::kMinusSquareRoot:
      return 1 - std::sqrt(part);
  }
  unreachable();
}

}  // namespace

std::span<const DecayEntry> decays() {
  return kDecays;
}

std::string_view to_string(Decay decay) {
  return kDecays[static_cast<std::size_t>(decay)].name;
}

std::span<const std::string_view> stable_decay_names() {
  return kStableDecays;
}

std::span<const std::string_view> weight_decay_growth_names() {
  return kGrowths;
}

double learning_rate_at(const LearningRate& rate, double done) {
  check(rate.late_warmup || rate.unit == ScheduleUnit::kSteps, "samples do not count the step itself");
  const double risen = rate.late_warmup ? done : done + 1;
  if (risen <= rate.warmup && rate.warmup > 0)
    return rate.start + (rate.peak - rate.start) * risen / rate.warmup;
  const double end = rate.decay_end > 0 ? rate.decay_end : rate.total;
  // The first step after the warm-up has done 0 of the way down.
  const double part = std::clamp((done - rate.warmup) / std::max(end - rate.warmup, 1.0), 0.0, 1.0);
  const double way = rate.peak - rate.minimum;
  switch (rate.decay) {
    case Decay::kLinear:
      return rate.minimum + way * (1 - part);
    case Decay::kCosine:
      return rate.minimum + way * half_wave(part);
    case Decay::kConstant:
      return rate.peak;
    case Decay::kInverseSquareRoot:
      if (done > end) return rate.minimum;
      return std::max(rate.minimum, rate.peak * std::sqrt(std::max(rate.warmup, 1.0) / std::max(done, 1.0)));
    case Decay::kWarmupStableDecay: {
      const double fallen = done - (end - rate.stable_decay_length);
      if (fallen <= 0) return rate.peak;
      return rate.minimum +
             way * left_of(rate.stable_decay, std::min(fallen / rate.stable_decay_length, 1.0));
    }
  }
  unreachable();
}

double weight_decay_at(const WeightDecaySchedule& schedule, double done) {
  const double part = std::clamp(done / schedule.length, 0.0, 1.0);
  const double way = schedule.end - schedule.start;
  switch (schedule.growth) {
    case WeightDecayGrowth::kConstant:
      return schedule.end;
    case WeightDecayGrowth::kLinear:
      return schedule.start + way * part;
    case WeightDecayGrowth::kCosine:
      return schedule.start + way * (1 - half_wave(part));
  }
  unreachable();
}

}  // namespace nadi::inline describe
