// Points of a space: what a sampler proposes, as values with names, and which of them are allowed.
//
//   const SpacePoints points(space);
//   const SearchSpace search = points.search_space();     // for samplers; `points` must outlive it
//   const auto setting = points.setting_of(point);        // by name, with constants and derived values
//   if (const auto why = points.violated(point)) ...
//
// A point has a number for each parameter, in the order of the space: the value, or the index of a choice;
// NaN for a parameter that has no value in the trial (sampling/search_space.h).
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nadi/sampling/search_space.h"
#include "nadi/study/trial.h"
#include "nadi/tune/tune_space.h"

namespace nadi::inline tuning {

// What a trial's command gets, by name. Parameters without a value are absent.
using TuneSetting = std::map<std::string, ParameterValue, std::less<>>;

class SpacePoints {
 public:
  // The space is checked, and must outlive this.
  explicit SpacePoints(const TuneSpace& space) : space_(&space) {}

  const TuneSpace& space() const { return *space_; }
  // Without duplicates or the planner: who keeps the study adds those to `allowed`.
  SearchSpace search_space() const;

  // Given the values before it.
  bool active(std::size_t parameter, std::span<const double> point) const;
  // As a value of a point: the default of the parameter, else its first value.
  double default_value(std::size_t parameter) const;
  // The first constraint that does not hold, in words. Constraints on parameters without a value hold, and so
  // do those on parameters behind the last of `point`, which may be the beginning of one.
  std::optional<std::string> violated(std::span<const double> point) const;
  // Parameters, constants and derived values.
  TuneSetting setting_of(std::span<const double> point) const;
  // Parameters alone.
  TuneSetting parameters_of(std::span<const double> point) const;

  // The other way: conditions are applied, and what is missing takes its default, else its first value. Error
  // (usage) for a value that a parameter does not have.
  std::vector<double> point_of(const TuneSetting& values) const;
  // Nothing if one of the trial's values is not in the space, or it lacks one: a study of another space.
  std::optional<std::vector<double>> point_of(const StudyTrial& trial) const;

  // Each parameter that has a value, as a storage takes it.
  std::vector<TrialParameter> trial_parameters(std::span<const double> point) const;

  // "micro_batch=4 layers=12", to be read: numbers to six digits.
  std::string text(std::span<const double> point) const;

 private:
  ParameterValue value_at(std::size_t parameter, std::span<const double> point) const;

  const TuneSpace* space_;
};

}  // namespace nadi::inline tuning
