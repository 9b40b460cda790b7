// What a study searches over: parameters in a fixed order, each with its range, and what makes a point valid.
//
//   SearchSpace space;
//   space.parameters.push_back(float_parameter("rate", 1e-5, 1e-1, ParameterScale::kLog));
//   space.parameters.push_back(int_parameter("layers", 0, 80));
//   space.parameters.push_back(choice_parameter("recompute", 3));
//   space.parameters.back().active = [](std::span<const double> point) { return point[1] > 0; };
//
// A point has one number for each parameter, in their order: the value of a float or an int, the index of a
// choice, and NaN for a parameter that is not active. Whether one is active depends on the parameters before
// it alone.
//
// Samplers think in units: every range is [0, 1], logarithmic ones by their logarithm. The grid of an int or
// of a float with a step has a cell around each value, so that the first and the last value are as likely as
// the others.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nadi::inline tuning {

enum class ParameterKind { kFloat, kInt, kChoice };
enum class ParameterScale { kLinear, kLog };

struct SearchParameter {
  std::string name;
  ParameterKind kind = ParameterKind::kFloat;
  double low = 0;   // of a choice 0
  double high = 1;  // included; of a choice the last index
  double step =
      0;  // 0 means continuous; of an int at least 1. Logarithmic ints have step 1, logarithmic floats none
  ParameterScale scale = ParameterScale::kLinear;

  // Asked with the values of the parameters before this one; empty means always active.
  std::function<bool(std::span<const double>)> active = {};

  // How many values there are; nothing for a continuous one.
  std::optional<std::int64_t> count() const;
  bool single() const { return low == high; }

  // The value at `unit` in [0, 1], on its grid and in its range, and the middle of the cell of a value.
  double value_at(double unit) const;
  double unit_of(double value) const;
  // The nearest value of the range; NaN stays.
  double snapped(double value) const;
  bool contains(double value) const;
};

SearchParameter float_parameter(std::string name, double low, double high,
                                ParameterScale scale = ParameterScale::kLinear, double step = 0);
SearchParameter int_parameter(std::string name, std::int64_t low, std::int64_t high,
                              ParameterScale scale = ParameterScale::kLinear, std::int64_t step = 1);
SearchParameter choice_parameter(std::string name, std::int64_t choices);

struct SearchSpace {
  std::vector<SearchParameter> parameters;

  // What must hold among the values of a point (that one divides another, say); empty means every point is valid.
  // No sampler proposes a point for which it is false.
  std::function<bool(std::span<const double>)> allowed = {};

  std::size_t size() const { return parameters.size(); }
  bool conditional() const;

  // Throws Error (usage) for an empty space, a name given twice, an empty or reversed range, a step that is
  // negative or beyond the range, a logarithmic range from 0 or below, an infinite bound.
  void check_parameters() const;

  // How many points a grid over all parameters has, conditions and `allowed` left aside; nothing when one
  // parameter is continuous or the number is above 10^15.
  std::optional<std::int64_t> grid_size() const;

  // NaN for what is not active, and the nearest value in range for the rest. Values of inactive parameters
  // are ignored; an active one that is NaN takes the middle of its range.
  std::vector<double> completed(std::vector<double> point) const;
  bool valid(std::span<const double> point) const;  // complete, in range, allowed

  std::vector<double> point_at(std::span<const double> units) const;
  std::vector<double> units_of(std::span<const double> point) const;  // 0.5 for what is not active
};

// All valid points of a finite space, in the order of the grid (the last parameter fastest), each once:
// parameters that are not active do not multiply. Stops after `limit` points, and gives nothing then or when
// a parameter is continuous.
std::optional<std::vector<std::vector<double>>> enumerate_points(const SearchSpace& space, std::size_t limit);

// For comparing points: equal in every parameter, NaN equal to NaN.
bool same_point(std::span<const double> left, std::span<const double> right);
// For tables of points: equal where same_point() holds.
std::uint64_t point_hash(std::span<const double> point);

}  // namespace nadi::inline tuning
