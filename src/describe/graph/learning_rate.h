// The learning rate of each step: a linear warm-up, then constant or a decay. And the weight decay of each
// step, where it changes.
//
// Lengths are in steps or, as Megatron's, in samples. The work done before a step is in the same unit:
//
//   learning_rate_at(rate, 6)                              // of the seventh step
//   learning_rate_at(in_samples, batches.samples_before(7))
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace nadi::inline describe {

enum class Decay : std::uint8_t { kLinear, kCosine, kConstant, kInverseSquareRoot, kWarmupStableDecay };
struct DecayEntry {
  Decay decay;
  std::string_view name;
  std::string_view summary;
};
std::span<const DecayEntry> decays();
std::string_view to_string(Decay decay);  // "linear", "cosine", "constant", "inverse-square-root", "WSD"

// How a warmup-stable-decay schedule falls at its end. With x from 0 to 1 over that part, what is left of the
// way between peak and minimum: 2 * 0.5^x - 1, 1 - x, half a cosine wave, 1 - sqrt(x).
enum class StableDecay : std::uint8_t { kExponential, kLinear, kCosine, kMinusSquareRoot };
std::span<const std::string_view> stable_decay_names();  // Megatron's, in this order

enum class ScheduleUnit : std::uint8_t { kSteps, kSamples };

struct LearningRate {
  Decay decay = Decay::kLinear;
  double peak = 5e-5;
  double minimum = 0;  // where a decay ends
  double start = 0;    // where the warm-up begins

  ScheduleUnit unit = ScheduleUnit::kSteps;  // of the lengths
  double warmup = 0;
  double decay_end = 0;  // where the decay ends before or after the run; 0 means at its end
  double total = 0;      // the length of the run; the step after the last would have the minimum
  // WSD: the length of the decay at the end, and its form.
  double stable_decay_length = 0;
  StableDecay stable_decay = StableDecay::kExponential;

  // On: the warm-up counts the steps before this one, as Megatron does; the first step has the rate `start`.
  // Off: it counts this step, too, so step s of w has done s / w of the way (only where the unit is steps).
  bool late_warmup = false;
};

// The rate of the step before which `done` was done. After the end of the decay it is the minimum (the peak
// when constant).
double learning_rate_at(const LearningRate& rate, double done);

// Weight decay that grows from `start` to `end` over `length`, in the unit of the learning rate.
enum class WeightDecayGrowth : std::uint8_t { kConstant, kLinear, kCosine };
std::span<const std::string_view> weight_decay_growth_names();
struct WeightDecaySchedule {
  WeightDecayGrowth growth = WeightDecayGrowth::kConstant;
  double start = 0;
  double end = 0;
  double length = 0;
};
double weight_decay_at(const WeightDecaySchedule& schedule, double done);

}  // namespace nadi::inline describe
