// Parameters and assignments as the command line has them.
#include <algorithm>
#include <cmath>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/tune/tune_space.h"
#include "nadi/tune/value_text.h"

namespace nadi::inline tuning {
namespace {

constexpr std::string_view kParameterForms =
    "forms: name=1,2,4   name=0..80   name=0..80:step=8   name=1e-5..1e-2:log   env.NAME=a,b   flag.name=1,2";

Error wrong_parameter(std::string_view text, std::string_view why) {
  return usage_error(format("parameter '{}': {}", text, why), std::string(kParameterForms));
}

std::vector<std::string_view> split_text(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

ParameterDistribution range_of_text(std::string_view whole, std::string_view text) {
  const std::vector<std::string_view> parts = split_text(text, ':');
  const std::size_t dots = parts[0].find("..");
  const ParameterValue low = value_of_text(parts[0].substr(0, dots));
  const ParameterValue high = value_of_text(parts[0].substr(dots + 2));
  if (!number_of(low) || !number_of(high)) throw wrong_parameter(whole, "a range needs two numbers");
  bool log = false;
  std::optional<ParameterValue> step;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i] == "log")
      log = true;
    else if (parts[i].starts_with("step="))
      step = value_of_text(parts[i].substr(5));
    else
      throw wrong_parameter(whole, format("unknown property '{}'; there are log and step=N", parts[i]));
  }
  if (step && (!number_of(*step) || *number_of(*step) <= 0))
    throw wrong_parameter(whole, "a step is a number above 0");
  const bool is_whole = std::holds_alternative<std::int64_t>(low) &&
                        std::holds_alternative<std::int64_t>(high) &&
                        (!step || std::holds_alternative<std::int64_t>(*step));
  if (is_whole)
    return IntDistribution{.low = std::get<std::int64_t>(low),
                           .high = std::get<std::int64_t>(high),
                           .log = log,
                           .step = step ? std::get<std::int64_t>(*step) : 1};
  FloatDistribution range{.low = *number_of(low), .high = *number_of(high), .log = log};
  if (step) range.step = number_of(*step);
  return range;
}

}  // namespace

std::pair<std::string, ParameterValue> assignment_of_text(std::string_view text, std::string_view what) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    throw usage_error(format("{} '{}' is not of the form name=value", what, text));
  return {std::string(text.substr(0, equals)), value_of_text(text.substr(equals + 1))};
}

TuneParameter parameter_of_text(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) throw wrong_parameter(text, "'=' is missing");
  TuneParameter parameter{.name = std::string(text.substr(0, equals))};
  if (parameter.name.starts_with("env.")) parameter.environment = parameter.name.substr(4);
  if (parameter.name.starts_with("flag.")) {
    parameter.flag = "--" + parameter.name.substr(5);
    std::ranges::replace(parameter.name, '-', '_');
  }
  if (!is_space_name(parameter.name))
    throw wrong_parameter(text, "a name is of letters, digits, '_' and '.', and begins with a letter or '_'");
  const std::string_view values = text.substr(equals + 1);
  if (values.empty()) throw wrong_parameter(text, "it has no values");
  ParameterDistribution distribution;
  if (values.find("..") != std::string_view::npos) {
    distribution = range_of_text(text, values);
  } else {
    CategoricalDistribution choices;
    for (const std::string_view value : split_text(values, ',')) {
      if (value.empty()) throw wrong_parameter(text, "a value is empty");
      choices.choices.push_back(value_of_text(value));
      for (std::size_t i = 0; i + 1 < choices.choices.size(); ++i)
        if (same_value(choices.choices[i], choices.choices.back()))
          throw wrong_parameter(text, format("{} is there twice", value));
    }
    distribution = std::move(choices);
  }
  check_distribution(distribution, parameter.name);
  parameter.distribution = std::make_shared<const ParameterDistribution>(adjusted(std::move(distribution)));
  return parameter;
}

}  // namespace nadi::inline tuning
