#include "nadi/tune/space_points.h"

#include <cmath>
#include <limits>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/tune/value_text.h"

namespace nadi::inline tuning {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

// Three or more numbers that rise or fall, such as 1, 2, 4, 8 means neighbours are alike, which a sampler that
// takes them for unrelated choices would have to learn value by value.
bool ordered_numbers(const std::vector<ParameterValue>& choices) {
  if (choices.size() < 3) return false;
  const auto before = [&](std::size_t a, std::size_t b) {
    const auto left = number_of(choices[a]);
    const auto right = number_of(choices[b]);
    return left && right && *left < *right;
  };
  bool rise = true;
  bool fall = true;
  for (std::size_t i = 0; i + 1 < choices.size(); ++i) {
    rise = rise && before(i, i + 1);
    fall = fall && before(i + 1, i);
  }
  return rise || fall;
}

// A point has the index of a choice, whether the sampler sees an order among choices or not.
SearchParameter search_parameter(const TuneParameter& parameter) {
  const auto scale = [](bool log) { return log ? ParameterScale::kLog : ParameterScale::kLinear; };
  if (const auto* range = std::get_if<FloatDistribution>(&*parameter.distribution))
    return float_parameter(parameter.name, range->low, range->high, scale(range->log),
                           range->step.value_or(0));
  if (const auto* whole = std::get_if<IntDistribution>(&*parameter.distribution))
    return int_parameter(parameter.name, whole->low, whole->high, scale(whole->log), whole->step);
  const auto& choices = std::get<CategoricalDistribution>(*parameter.distribution).choices;
  if (ordered_numbers(choices)) return int_parameter(parameter.name, 0, std::ssize(choices) - 1);
  return choice_parameter(parameter.name, std::ssize(choices));
}

// Names at a point, found without making a map: a sampler asks for thousands of points.
class PointNames {
 public:
  PointNames(const TuneSpace& space, std::span<const double> point) : space_(space), values_(point.size()) {
    for (std::size_t i = 0; i < point.size(); ++i)
      if (!std::isnan(point[i])) values_[i] = external_value(*space.parameters[i].distribution, point[i]);
  }

  const ParameterValue* find(std::string_view name) const {
    for (std::size_t i = 0; i < values_.size(); ++i)
      if (space_.parameters[i].name == name) return values_[i] ? &*values_[i] : nullptr;
    for (const auto& [constant, value] : space_.constants)
      if (constant == name) return &value;
    for (std::size_t i = 0; i < derived_.size(); ++i)
      if (space_.derived[i].name == name) return derived_[i] ? &*derived_[i] : nullptr;
    return nullptr;
  }

  void derive() {
    for (const NamedExpression& value : space_.derived)
      derived_.push_back(value.expression.value([&](std::string_view name) { return find(name); }));
  }

  std::optional<bool> is_true(const Expression& expression) const {
    return expression.is_true([&](std::string_view name) { return find(name); });
  }

 private:
  const TuneSpace& space_;
  std::vector<std::optional<ParameterValue>> values_;
  std::vector<std::optional<ParameterValue>> derived_;
};

double first_value(const ParameterDistribution& distribution) {
  if (const auto* range = std::get_if<FloatDistribution>(&distribution)) return range->low;
  if (const auto* whole = std::get_if<IntDistribution>(&distribution)) return static_cast<double>(whole->low);
  return 0;
}

}  // namespace

SearchSpace SpacePoints::search_space() const {
  SearchSpace search;
  for (std::size_t i = 0; i < space_->parameters.size(); ++i) {
    search.parameters.push_back(search_parameter(space_->parameters[i]));
    if (space_->parameters[i].when)
      search.parameters.back().active = [this, i](std::span<const double> point) { return active(i, point); };
  }
  if (!space_->constraints.empty())
    search.allowed = [this](std::span<const double> point) { return !violated(point); };
  return search;
}

bool SpacePoints::active(std::size_t parameter, std::span<const double> point) const {
  const auto& when = space_->parameters[parameter].when;
  if (!when) return true;
  // A condition on a parameter without a value does not hold.
  return PointNames(*space_, point.first(std::min(parameter, point.size()))).is_true(*when).value_or(false);
}

double SpacePoints::default_value(std::size_t parameter) const {
  const TuneParameter& known = space_->parameters[parameter];
  const auto inside = known.fallback ? internal_value(*known.distribution, *known.fallback) : std::nullopt;
  return inside.value_or(first_value(*known.distribution));
}

std::optional<std::string> SpacePoints::violated(std::span<const double> point) const {
  PointNames names(*space_, point);
  names.derive();
  for (const TuneConstraint& constraint : space_->constraints)
    if (!names.is_true(constraint.expression).value_or(true))
      return constraint.because.empty() ? constraint.expression.text()
                                        : format("{} ({})", constraint.because, constraint.expression.text());
  return std::nullopt;
}

ParameterValue SpacePoints::value_at(std::size_t parameter, std::span<const double> point) const {
  const auto value = external_value(*space_->parameters[parameter].distribution, point[parameter]);
  check(value.has_value(), "a point with the index of no choice");
  return *value;
}

TuneSetting SpacePoints::parameters_of(std::span<const double> point) const {
  TuneSetting setting;
  for (std::size_t i = 0; i < point.size(); ++i)
    if (!std::isnan(point[i])) setting.emplace(space_->parameters[i].name, value_at(i, point));
  return setting;
}

TuneSetting SpacePoints::setting_of(std::span<const double> point) const {
  TuneSetting setting = parameters_of(point);
  for (const auto& [name, value] : space_->constants) setting.emplace(name, value);
  PointNames names(*space_, point);
  names.derive();
  for (const NamedExpression& value : space_->derived)
    if (const ParameterValue* known = names.find(value.name)) setting.emplace(value.name, *known);
  return setting;
}

std::vector<double> SpacePoints::point_of(const TuneSetting& values) const {
  std::vector<double> point;
  for (std::size_t i = 0; i < space_->parameters.size(); ++i) {
    const TuneParameter& parameter = space_->parameters[i];
    if (!active(i, point)) {
      point.push_back(kNoValue);
      continue;
    }
    const auto given = values.find(parameter.name);
    std::optional<double> inside;
    if (given != values.end()) {
      inside = internal_value(*parameter.distribution, given->second);
      if (!inside || !contains(*parameter.distribution, *inside))
        throw usage_error(format("{} does not take {}", parameter.name, to_text(given->second)),
                          format("its values: {}", values_text(*parameter.distribution)));
    }
    point.push_back(inside ? *inside : default_value(i));
  }
  return point;
}

std::optional<std::vector<double>> SpacePoints::point_of(const StudyTrial& trial) const {
  std::vector<double> point;
  for (std::size_t i = 0; i < space_->parameters.size(); ++i) {
    const TuneParameter& parameter = space_->parameters[i];
    const TrialParameter* known = trial.find(parameter.name);
    if (known == nullptr) {
      if (active(i, point)) return std::nullopt;
      point.push_back(kNoValue);
      continue;
    }
    // The same value may have another index where the choices were others.
    const auto inside = known->distribution == parameter.distribution
                            ? std::optional(known->value)
                            : internal_value(*parameter.distribution, known->external());
    if (!inside || !contains(*parameter.distribution, *inside)) return std::nullopt;
    point.push_back(*inside);
  }
  return point;
}

std::vector<TrialParameter> SpacePoints::trial_parameters(std::span<const double> point) const {
  std::vector<TrialParameter> parameters;
  for (std::size_t i = 0; i < point.size(); ++i)
    if (!std::isnan(point[i]))
      parameters.push_back({.name = space_->parameters[i].name,
                            .value = point[i],
                            .distribution = space_->parameters[i].distribution});
  return parameters;
}

std::string SpacePoints::text(std::span<const double> point) const {
  std::string text;
  for (std::size_t i = 0; i < point.size(); ++i)
    if (!std::isnan(point[i]))
      text += format("{}{}={}", text.empty() ? "" : " ", space_->parameters[i].name,
                     shown_text(value_at(i, point)));
  return text;
}

}  // namespace nadi::inline tuning
