#include "nadi/sampling/search_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "nadi/base/error.h"
#include "nadi/base/hash.h"

namespace nadi::inline tuning {
namespace {

constexpr double kNotActive = std::numeric_limits<double>::quiet_NaN();
constexpr double kLargestGrid = 1e15;

// A range on the scale of the sampler: cells of half a step lie beyond both ends of a grid.
struct ScaledRange {
  double low = 0;
  double high = 0;
};

ScaledRange scaled_range(const SearchParameter& parameter) {
  const double half = parameter.step / 2;
  if (parameter.scale == ParameterScale::kLog)
    return {std::log(parameter.low - half), std::log(parameter.high + half)};
  return {parameter.low - half, parameter.high + half};
}

// Number of steps between the ends, with room for rounding: 0.1 to 0.5 by 0.1 is four steps.
double steps_between(const SearchParameter& parameter) {
  return std::floor((parameter.high - parameter.low) / parameter.step * (1 + 1e-12) + 1e-9);
}

void check_parameter(const SearchParameter& parameter) {
  const auto refuse = [&](const std::string& what) {
    throw usage_error(fmt::format("parameter '{}' {}", parameter.name, what));
  };
  if (parameter.name.empty()) throw usage_error("a parameter has no name");
  if (!std::isfinite(parameter.low) || !std::isfinite(parameter.high)) refuse("has no finite range");
  if (parameter.low > parameter.high)
    refuse(fmt::format("has a range from {} down to {}", parameter.low, parameter.high));
  if (!(parameter.step >= 0) || !std::isfinite(parameter.step))
    refuse(fmt::format("has a step of {}", parameter.step));
  if (parameter.step > 0 && parameter.low < parameter.high && parameter.step > parameter.high - parameter.low)
    refuse(fmt::format("has a step of {}, beyond its range", parameter.step));
  if (parameter.kind != ParameterKind::kFloat && parameter.step < 1) refuse("needs a step of at least 1");
  if (parameter.scale == ParameterScale::kLog) {
    if (parameter.low <= 0)
      refuse(fmt::format("has a logarithmic range from {}, which must be above 0", parameter.low));
    if (parameter.kind == ParameterKind::kInt ? parameter.step != 1 : parameter.step != 0)
      refuse("has a logarithmic range and a step");
  }
}

}  // namespace

std::optional<std::int64_t> SearchParameter::count() const {
  if (single()) return 1;
  if (step == 0) return std::nullopt;
  return static_cast<std::int64_t>(steps_between(*this)) + 1;
}

double SearchParameter::value_at(double unit) const {
  if (single()) return low;
  const ScaledRange range = scaled_range(*this);
  const double scaled = range.low + std::clamp(unit, 0.0, 1.0) * (range.high - range.low);
  return snapped(scale == ParameterScale::kLog ? std::exp(scaled) : scaled);
}

double SearchParameter::unit_of(double value) const {
  if (single()) return 0.5;
  const ScaledRange range = scaled_range(*this);
  const double scaled = scale == ParameterScale::kLog ? std::log(std::max(value, low / 2)) : value;
  return std::clamp((scaled - range.low) / (range.high - range.low), 0.0, 1.0);
}

double SearchParameter::snapped(double value) const {
  if (std::isnan(value)) return value;
  if (step > 0) {
    const double index = std::clamp(std::round((value - low) / step), 0.0, steps_between(*this));
    value = low + index * step;
    if (kind != ParameterKind::kFloat) value = std::round(value);
  }
  return std::clamp(value, low, high);
}

bool SearchParameter::contains(double value) const {
  if (!(value >= low && value <= high)) return false;
  if (step == 0) return true;
  const double index = (value - low) / step;
  return std::abs(index - std::round(index)) < 1e-6;
}

SearchParameter float_parameter(std::string name, double low, double high, ParameterScale scale,
                                double step) {
  return {.name = std::move(name),
          .kind = ParameterKind::kFloat,
          .low = low,
          .high = high,
          .step = step,
          .scale = scale};
}

SearchParameter int_parameter(std::string name, std::int64_t low, std::int64_t high, ParameterScale scale,
                              std::int64_t step) {
  return {.name = std::move(name),
          .kind = ParameterKind::kInt,
          .low = static_cast<double>(low),
          .high = static_cast<double>(high),
          .step = static_cast<double>(step),
          .scale = scale};
}

SearchParameter choice_parameter(std::string name, std::int64_t choices) {
  return {.name = std::move(name),
          .kind = ParameterKind::kChoice,
          .low = 0,
          .high = static_cast<double>(choices - 1),
          .step = 1};
}

bool SearchSpace::conditional() const {
  return std::any_of(parameters.begin(), parameters.end(),
                     [](const SearchParameter& parameter) { return static_cast<bool>(parameter.active); });
}

void SearchSpace::check_parameters() const {
  if (parameters.empty()) throw usage_error("the space has no parameters");
  std::set<std::string_view> names;
  for (const SearchParameter& parameter : parameters) {
    check_parameter(parameter);
    if (!names.insert(parameter.name).second)
      throw usage_error(fmt::format("parameter '{}' is given twice", parameter.name));
  }
}

std::optional<std::int64_t> SearchSpace::grid_size() const {
  double points = 1;
  for (const SearchParameter& parameter : parameters) {
    const auto values = parameter.count();
    if (!values) return std::nullopt;
    points *= static_cast<double>(*values);
    if (points > kLargestGrid) return std::nullopt;
  }
  return static_cast<std::int64_t>(points);
}

std::vector<double> SearchSpace::completed(std::vector<double> point) const {
  point.resize(size(), kNotActive);
  for (std::size_t i = 0; i < size(); ++i) {
    const SearchParameter& parameter = parameters[i];
    if (parameter.active && !parameter.active(std::span(point).first(i)))
      point[i] = kNotActive;
    else
      point[i] = std::isnan(point[i]) ? parameter.value_at(0.5) : parameter.snapped(point[i]);
  }
  return point;
}

bool SearchSpace::valid(std::span<const double> point) const {
  if (point.size() != size()) return false;
  for (std::size_t i = 0; i < size(); ++i) {
    const bool active = !parameters[i].active || parameters[i].active(point.first(i));
    if (active ? !parameters[i].contains(point[i]) : !std::isnan(point[i])) return false;
  }
  return !allowed || allowed(point);
}

std::vector<double> SearchSpace::point_at(std::span<const double> units) const {
  std::vector<double> point(size());
  for (std::size_t i = 0; i < size(); ++i) point[i] = parameters[i].value_at(units[i]);
  return completed(std::move(point));
}

std::vector<double> SearchSpace::units_of(std::span<const double> point) const {
  std::vector<double> units(size());
  for (std::size_t i = 0; i < size(); ++i)
    units[i] = std::isnan(point[i]) ? 0.5 : parameters[i].unit_of(point[i]);
  return units;
}

std::optional<std::vector<std::vector<double>>> enumerate_points(const SearchSpace& space,
                                                                 std::size_t limit) {
  for (const SearchParameter& parameter : space.parameters)
    if (!parameter.count()) return std::nullopt;
  // Depth first over active parameters. `examined` bounds the walk where `allowed` leaves few of many points.
  std::vector<std::vector<double>> points;
  std::vector<double> point(space.size(), kNotActive);
  std::size_t examined = 0;
  const std::size_t most_examined = 20 * limit + 1000;
  const std::function<bool(std::size_t)> walk = [&](std::size_t depth) {
    if (depth == space.size()) {
      if (++examined > most_examined) return false;
      if (space.allowed && !space.allowed(point)) return true;
      if (points.size() == limit) return false;
      points.push_back(point);
      return true;
    }
    const SearchParameter& parameter = space.parameters[depth];
    if (parameter.active && !parameter.active(std::span<const double>(point).first(depth))) {
      point[depth] = kNotActive;
      return walk(depth + 1);
    }
    const std::int64_t count = *parameter.count();
    for (std::int64_t index = 0; index < count; ++index) {
      point[depth] = parameter.snapped(parameter.low + static_cast<double>(index) * parameter.step);
      if (!walk(depth + 1)) return false;
    }
    return true;
  };
  if (!walk(0)) return std::nullopt;
  return points;
}

bool same_point(std::span<const double> left, std::span<const double> right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); });
}

std::uint64_t point_hash(std::span<const double> point) {
  std::uint64_t hash = point.size();
  for (const double coordinate : point) {
    // NaN and -0 have one pattern of bits each.
    double value = std::isnan(coordinate) ? std::numeric_limits<double>::quiet_NaN() : coordinate;
    if (value == 0) value = 0;
    hash = mixed_bits(hash ^ std::bit_cast<std::uint64_t>(value));
  }
  return hash;
}

}  // namespace nadi::inline tuning
