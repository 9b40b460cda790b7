// Proposes where to try next.
//
//   const auto sampler = make_sampler({.name = "gp", .seed = 1}, space);
//   const auto point = sampler->suggest(history, number);   // nothing means every point of a finite space has
//   been tried
//
// A suggestion is a function of the settings, the space, the history and the number of the trial that it is
// for. Samplers have no state of their own: a study that is resumed, or has several workers, goes on as one
// that never stopped. Trials that still run are in the history, and keep others from being sent to the same
// place.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/sampling/search_space.h"
#include "nadi/sampling/trial_history.h"

namespace nadi::inline tuning {

struct SamplerSettings {
  std::string name = "auto";
  std::uint64_t seed = 0;

  bool operator==(const SamplerSettings&) const = default;
};

struct SamplerDescription {
  std::string_view name;
  std::string_view summary;
};
std::span<const SamplerDescription> sampler_descriptions();

// As JSON on one line, for the study, and back: Error (input) for a text that is no settings, an unknown key
// or name.
std::string sampler_settings_text(const SamplerSettings& settings);
SamplerSettings parse_sampler_settings(const std::string& text, const std::string& origin);

class TrialSampler {
 public:
  virtual ~TrialSampler() = default;

  // A valid point (search_space.h) for trial `number`. Nothing when the space is finite and each of its valid
  // points is in the history. Throws Error (infeasible) when no valid point can be found.
  virtual std::optional<std::vector<double>> suggest(const TrialHistory& history,
                                                     std::int64_t number) const = 0;
};

// The space is checked, and kept by the sampler.
std::unique_ptr<TrialSampler> make_sampler(const SamplerSettings& settings, SearchSpace space);

}  // namespace nadi::inline tuning
