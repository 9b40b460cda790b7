#include "nadi/tune/tune_space.h"

#include <algorithm>
#include <set>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"

namespace nadi::inline tuning {
namespace {

ValueType type_of_distribution(const ParameterDistribution& distribution) {
  const auto* categorical = std::get_if<CategoricalDistribution>(&distribution);
  if (categorical == nullptr) return ValueType::kNumber;
  const ValueType first = type_of_value(categorical->choices.front());
  const auto differs = [&](const ParameterValue& value) { return type_of_value(value) != first; };
  return std::ranges::any_of(categorical->choices, differs) ? ValueType::kMixed : first;
}

// What names mean at a place of the space: the first so many parameters, constants, the first so many derived
// values.
struct KnownNames {
  const TuneSpace& space;
  std::size_t parameters;
  std::vector<std::pair<std::string, ValueType>> derived = {};

  std::optional<ValueType> type(std::string_view name) const {
    for (std::size_t i = 0; i < parameters; ++i)
      if (space.parameters[i].name == name) return type_of_distribution(*space.parameters[i].distribution);
    for (const auto& [constant, value] : space.constants)
      if (constant == name) return type_of_value(value);
    for (const auto& [other, type] : derived)
      if (other == name) return type;
    return std::nullopt;
  }

  ValueType check(const Expression& expression) const {
    return expression.check([&](std::string_view name) { return type(name); }, space.names());
  }

  void check_truth(const Expression& expression, std::string_view what) const {
    const ValueType type = check(expression);
    if (type != ValueType::kTruth && type != ValueType::kMixed)
      throw input_error({}, format("{} '{}' is neither true nor false", what, expression.text()),
                        "compare it with something: == 0");
  }
};

}  // namespace

bool is_space_name(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  };
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') && name[0] != '.' &&
         std::ranges::all_of(name, fits);
}

const TuneParameter* TuneSpace::find(std::string_view name) const {
  const auto found = std::ranges::find(parameters, name, &TuneParameter::name);
  return found == parameters.end() ? nullptr : &*found;
}

const ParameterValue* TuneSpace::find_constant(std::string_view name) const {
  const auto found = std::ranges::find(constants, name, &std::pair<std::string, ParameterValue>::first);
  return found == constants.end() ? nullptr : &found->second;
}

void TuneSpace::add(TuneParameter parameter) {
  const auto found = std::ranges::find(parameters, parameter.name, &TuneParameter::name);
  if (found == parameters.end()) {
    parameters.push_back(std::move(parameter));
    return;
  }
  if (!parameter.when) parameter.when = found->when;
  if (parameter.flag.empty() && parameter.environment.empty() && parameter.words.empty()) {
    parameter.flag = found->flag;
    parameter.flag_off = found->flag_off;
    parameter.environment = found->environment;
    parameter.omitted = found->omitted;
    parameter.words = found->words;
    std::erase_if(parameter.words,
                  [&](const auto& each) { return !has_value_named(*parameter.distribution, each.first); });
  }
  if (parameter.about.empty()) parameter.about = found->about;
  if (!parameter.fallback && found->fallback && internal_value(*parameter.distribution, *found->fallback) &&
      contains(*parameter.distribution, *internal_value(*parameter.distribution, *found->fallback)))
    parameter.fallback = found->fallback;
  *found = std::move(parameter);
}

void TuneSpace::set_constant(std::string_view name, ParameterValue value) {
  const auto found = std::ranges::find(constants, name, &std::pair<std::string, ParameterValue>::first);
  if (found == constants.end())
    constants.emplace_back(name, std::move(value));
  else
    found->second = std::move(value);
}

void TuneSpace::set_fallback(std::string_view name, const ParameterValue& value) {
  const auto found = std::ranges::find(parameters, name, &TuneParameter::name);
  if (found == parameters.end()) {
    std::vector<std::string> known;
    for (const TuneParameter& parameter : parameters) known.push_back(parameter.name);
    throw usage_error(format("no parameter '{}'", name), did_you_mean(name, known));
  }
  const auto inside = internal_value(*found->distribution, value);
  if (!inside || !contains(*found->distribution, *inside))
    throw usage_error(format("{} does not take {}", name, to_text(value)),
                      format("its values: {}", values_text(*found->distribution)));
  found->fallback = value;
}

void TuneSpace::merge(TuneSpace other) {
  if (about.empty()) about = std::move(other.about);
  for (TuneParameter& parameter : other.parameters) add(std::move(parameter));
  for (auto& [name, value] : other.constants) set_constant(name, std::move(value));
  std::ranges::move(other.derived, std::back_inserter(derived));
  std::ranges::move(other.constraints, std::back_inserter(constraints));
  if (other.plan.any()) plan = std::move(other.plan);
}

std::vector<std::string> TuneSpace::names() const {
  std::vector<std::string> names;
  for (const TuneParameter& parameter : parameters) names.push_back(parameter.name);
  for (const auto& [name, value] : constants) names.push_back(name);
  for (const NamedExpression& value : derived) names.push_back(value.name);
  return names;
}

void TuneSpace::check() const {
  if (parameters.empty()) throw usage_error("there is nothing to tune: the space has no parameters");
  std::set<std::string> seen;
  for (const std::string& name : names()) {
    if (!is_space_name(name))
      throw input_error({}, format("'{}' is no name for a value", name),
                        "letters, digits, '_' and '.', and a letter or '_' first");
    if (!seen.insert(name).second) throw input_error({}, format("the space has '{}' twice", name));
  }
  KnownNames known{.space = *this, .parameters = 0};
  for (const TuneParameter& parameter : parameters) {
    check_distribution(*parameter.distribution, parameter.name);
    if (parameter.when) known.check_truth(*parameter.when, format("the condition of '{}':", parameter.name));
    ++known.parameters;
    const auto refuse_unknown = [&](const ParameterValue& value, std::string_view what) {
      const auto inside = internal_value(*parameter.distribution, value);
      if (!inside || !contains(*parameter.distribution, *inside))
        throw input_error(
            {}, format("{} of '{}' is {}, which is none of its values", what, parameter.name, to_text(value)),
            format("its values: {}", values_text(*parameter.distribution)));
    };
    if (parameter.fallback) refuse_unknown(*parameter.fallback, "the default");
  }
  for (const NamedExpression& value : derived)
    known.derived.emplace_back(value.name, known.check(value.expression));
  for (const TuneConstraint& constraint : constraints) known.check_truth(constraint.expression, "constraint");
}

bool has_value_named(const ParameterDistribution& distribution, std::string_view text) {
  const auto* categorical = std::get_if<CategoricalDistribution>(&distribution);
  return categorical != nullptr &&
         std::ranges::any_of(categorical->choices,
                             [&](const ParameterValue& choice) { return to_text(choice) == text; });
}

std::string values_text(const ParameterDistribution& distribution) {
  if (const auto* range = std::get_if<FloatDistribution>(&distribution))
    return format("{} to {}{}{}", range->low, range->high, range->log ? ", logarithmic" : "",
                  range->step ? format(" in steps of {}", *range->step) : "");
  if (const auto* range = std::get_if<IntDistribution>(&distribution))
    return format("{} to {}{}{}", range->low, range->high, range->log ? ", logarithmic" : "",
                  range->step != 1 ? format(" in steps of {}", range->step) : "");
  std::string text;
  for (const ParameterValue& choice : std::get<CategoricalDistribution>(distribution).choices)
    text += (text.empty() ? "" : ", ") + to_text(choice);
  return text;
}

}  // namespace nadi::inline tuning
