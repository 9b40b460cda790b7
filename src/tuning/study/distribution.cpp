#include "nadi/study/distribution.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"
#include "nadi/study/distribution_text.h"
#include "nadi/study/python_json.h"

namespace nadi::inline tuning {
namespace {

template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};

// How far a value may be from a multiple of the step, in steps; the same as Optuna's.
constexpr double kStepTolerance = 1e-8;

// bool, integers and doubles compare as numbers in Python.
std::optional<double> as_number(const ParameterValue& value) {
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? 1.0 : 0.0;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const double* number = std::get_if<double>(&value)) return *number;
  return std::nullopt;
}

// What is wrong with a distribution, or "".
std::string fault_of(const ParameterDistribution& distribution) {
  return std::visit(
      Overloaded{
          [](const FloatDistribution& range) -> std::string {
            if (!std::isfinite(range.low) || !std::isfinite(range.high))
              return format("a range must have finite ends, found {} to {}", range.low, range.high);
            if (range.low > range.high) return format("the range {} to {} is empty", range.low, range.high);
            if (range.log && range.low <= 0)
              return format("a logarithmic range must be above 0, found {}", range.low);
            if (range.log && range.step) return "a logarithmic range has no step";
            if (range.step && !(*range.step > 0 && std::isfinite(*range.step)))
              return format("the step must be above 0, found {}", *range.step);
            return "";
          },
          [](const IntDistribution& range) -> std::string {
            if (range.low > range.high) return format("the range {} to {} is empty", range.low, range.high);
            if (range.log && range.low < 1)
              return format("a logarithmic range of integers must begin at 1 or above, found {}", range.low);
            if (range.step < 1) return format("the step must be 1 or more, found {}", range.step);
            if (range.log && range.step != 1)
              return format("a logarithmic range has no step, found {}", range.step);
            return "";
          },
          [](const CategoricalDistribution& categorical) -> std::string {
            return categorical.choices.empty() ? "there are no choices" : "";
          },
      },
      distribution);
}

// The width of a range of integers, which may exceed 63 bits.
std::uint64_t width(const IntDistribution& range) {
  return static_cast<std::uint64_t>(range.high) - static_cast<std::uint64_t>(range.low);
}

// Steps that fit into the range. A quotient that is a whole number but for rounding, as of 0.3 / 0.1, counts
// as whole.
double whole_steps(const FloatDistribution& range) {
  const double steps = (range.high - range.low) / *range.step;
  const double nearest = std::round(steps);
  return std::abs(steps - nearest) <= kStepTolerance * std::max(1.0, std::abs(nearest)) ? nearest
                                                                                        : std::floor(steps);
}

// Digits behind the point in the shortest decimal form of a number.
int decimals(double number) {
  const std::string text = format("{}", number);
  const std::size_t exponent_at = std::min(text.find('e'), text.size());
  const std::size_t point_at = text.find('.');
  const int fraction = point_at < exponent_at ? static_cast<int>(exponent_at - point_at) - 1 : 0;
  const int exponent = exponent_at < text.size() ? std::atoi(text.c_str() + exponent_at + 1) : 0;
  return std::max(0, fraction - exponent);
}

struct Attributes {
  std::string_view owner;  // the JSON text, for places of mistakes
  std::vector<JsonMember> members;

  std::string_view at(std::string_view key) const {
    if (const JsonMember* member = find_member(members, key)) return member->value;
    throw PythonJsonError(format("'{}' is missing", key), owner.data());
  }
  bool flag(std::string_view key, bool otherwise) const {
    const JsonMember* member = find_member(members, key);
    return member == nullptr ? otherwise : json_bool(member->value);
  }
  bool has_value(std::string_view key) const {
    const JsonMember* member = find_member(members, key);
    return member != nullptr && json_type(member->value) != JsonType::kNull;
  }
  void refuse_except(std::initializer_list<std::string_view> known) const {
    for (const JsonMember& member : members) {
      if (std::ranges::find(known, member.key) == known.end())
        throw PythonJsonError(format("unknown key {}", quote_for_message(member.key)), member.value.data());
    }
  }
};

FloatDistribution read_float(const Attributes& attributes, std::string_view step_key) {
  FloatDistribution range;
  range.low = json_number(attributes.at("low"));
  range.high = json_number(attributes.at("high"));
  range.log = attributes.flag("log", false);
  if (attributes.has_value(step_key)) range.step = json_number(attributes.at(step_key));
  return range;
}

IntDistribution read_int(const Attributes& attributes) {
  IntDistribution range;
  range.low = json_integer(attributes.at("low"));
  range.high = json_integer(attributes.at("high"));
  range.log = attributes.flag("log", false);
  if (attributes.has_value("step")) range.step = json_integer(attributes.at("step"));
  return range;
}

CategoricalDistribution read_choices(const Attributes& attributes) {
  CategoricalDistribution categorical;
  for (const std::string_view choice : json_elements(attributes.at("choices")))
    categorical.choices.push_back(json_value(choice));
  return categorical;
}

ParameterDistribution read_named(const std::string& name, const Attributes& attributes) {
  // The classes since Optuna 3, and those before, which its files may still have.
  if (name == "FloatDistribution") {
    attributes.refuse_except({"low", "high", "log", "step"});
    return read_float(attributes, "step");
  }
  if (name == "IntDistribution") {
    attributes.refuse_except({"low", "high", "log", "step"});
    return read_int(attributes);
  }
  if (name == "CategoricalDistribution") {
    attributes.refuse_except({"choices"});
    return read_choices(attributes);
  }
  if (name == "UniformDistribution" || name == "LogUniformDistribution") {
    attributes.refuse_except({"low", "high"});
    FloatDistribution range = read_float(attributes, "step");
    range.log = name == "LogUniformDistribution";
    return range;
  }
  if (name == "DiscreteUniformDistribution") {
    attributes.refuse_except({"low", "high", "q"});
    return read_float(attributes, "q");
  }
  if (name == "IntUniformDistribution" || name == "IntLogUniformDistribution") {
    attributes.refuse_except({"low", "high", "step"});
    IntDistribution range = read_int(attributes);
    range.log = name == "IntLogUniformDistribution";
    if (range.log) range.step = 1;  // was written, and never had an effect
    return range;
  }
  throw PythonJsonError(format("unknown distribution {}", quote_for_message(name)), attributes.owner.data());
}

// {"type": "float", "low": 0, "high": 1, "log": true}: the short form that Optuna's command line takes.
ParameterDistribution read_short(const std::string& type, const Attributes& attributes) {
  if (type == "float") return read_float(attributes, "step");
  if (type == "int") return read_int(attributes);
  if (type == "categorical") return read_choices(attributes);
  throw PythonJsonError(format("unknown distribution {}", quote_for_message(type)), attributes.owner.data());
}

}  // namespace

std::string to_json_text(const ParameterValue& value) {
  std::string out;
  std::visit(Overloaded{
                 [&](std::monostate) { out = "null"; },
                 [&](bool flag) { out = flag ? "true" : "false"; },
                 [&](std::int64_t integer) { out = std::to_string(integer); },
                 [&](double number) { append_json_number(number, out); },
                 [&](const std::string& text) { append_json_string(text, out); },
                 [&](const OtherJson& other) { out = other.text; },
             },
             value);
  return out;
}

std::string to_text(const ParameterValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<double>(&value)) return format("{}", *number);
  return to_json_text(value);
}

bool same_value(const ParameterValue& a, const ParameterValue& b) {
  const std::optional<double> first = as_number(a);
  const std::optional<double> second = as_number(b);
  if (first && second) {
    // Integers beyond 53 bits differ where their doubles do not.
    if (std::holds_alternative<std::int64_t>(a) && std::holds_alternative<std::int64_t>(b)) return a == b;
    return *first == *second || (std::isnan(*first) && std::isnan(*second));
  }
  return a == b;
}

void check_distribution(const ParameterDistribution& distribution, std::string_view name) {
  const std::string fault = fault_of(distribution);
  if (fault.empty()) return;
  if (name.empty()) throw usage_error(fault);
  throw usage_error(format("parameter {}: {}", quote_for_message(name), fault));
}

ParameterDistribution adjusted(ParameterDistribution distribution) {
  if (auto* range = std::get_if<FloatDistribution>(&distribution); range != nullptr && range->step) {
    const double last = range->low + whole_steps(*range) * *range->step;
    // A range that is whole keeps its end as it was written. The end of another one is what decimal
    // arithmetic gives: 0.9 for 0 to 1 by 0.3, not 0.8999999999999999.
    if (std::abs(last - range->high) > kStepTolerance * *range->step) {
      const int digits = std::max(decimals(range->low), decimals(*range->step));
      range->high = std::strtod(format("{:.{}f}", last, digits).c_str(), nullptr);
    }
  }
  if (auto* range = std::get_if<IntDistribution>(&distribution)) {
    const std::uint64_t rest = width(*range) % static_cast<std::uint64_t>(range->step);
    range->high -= static_cast<std::int64_t>(rest);
  }
  return distribution;
}

bool same_distribution(const ParameterDistribution& a, const ParameterDistribution& b) {
  if (a.index() != b.index()) return false;
  if (const auto* range = std::get_if<FloatDistribution>(&a)) return *range == std::get<FloatDistribution>(b);
  if (const auto* range = std::get_if<IntDistribution>(&a)) return *range == std::get<IntDistribution>(b);
  return std::ranges::equal(std::get<CategoricalDistribution>(a).choices,
                            std::get<CategoricalDistribution>(b).choices, same_value);
}

bool are_compatible(const ParameterDistribution& a, const ParameterDistribution& b) {
  if (a.index() != b.index()) return false;
  if (const auto* range = std::get_if<FloatDistribution>(&a))
    return range->log == std::get<FloatDistribution>(b).log;
  if (const auto* range = std::get_if<IntDistribution>(&a))
    return range->log == std::get<IntDistribution>(b).log;
  return same_distribution(a, b);
}

bool is_single(const ParameterDistribution& distribution) {
  return std::visit(
      Overloaded{
          [](const FloatDistribution& range) {
            return range.low == range.high || (range.step && whole_steps(range) < 1);
          },
          [](const IntDistribution& range) { return width(range) < static_cast<std::uint64_t>(range.step); },
          [](const CategoricalDistribution& categorical) { return categorical.choices.size() == 1; },
      },
      distribution);
}

bool contains(const ParameterDistribution& distribution, double value) {
  return std::visit(
      Overloaded{
          [&](const FloatDistribution& range) {
            if (!(range.low <= value && value <= range.high)) return false;
            if (!range.step) return true;
            const double steps = (value - range.low) / *range.step;
            return std::abs(steps - std::round(steps)) < kStepTolerance;
          },
          [&](const IntDistribution& range) {
            if (!(static_cast<double>(range.low) <= value && value <= static_cast<double>(range.high)))
              return false;
            return std::fmod(value - static_cast<double>(range.low), static_cast<double>(range.step)) == 0;
          },
          [&](const CategoricalDistribution& categorical) {
            return value > -1 && value < static_cast<double>(categorical.choices.size());
          },
      },
      distribution);
}

std::optional<ParameterValue> external_value(const ParameterDistribution& distribution, double value) {
  return std::visit(Overloaded{
                        [&](const FloatDistribution&) -> std::optional<ParameterValue> { return value; },
                        [&](const IntDistribution&) -> std::optional<ParameterValue> {
                          constexpr double kLimit = 9223372036854775808.0;  // 2^63
                          if (!(value >= -kLimit && value < kLimit)) return std::nullopt;
                          return static_cast<std::int64_t>(value);
                        },
                        [&](const CategoricalDistribution& categorical) -> std::optional<ParameterValue> {
                          if (!(value > -1 && value < static_cast<double>(categorical.choices.size())))
                            return std::nullopt;
                          return categorical.choices[static_cast<std::size_t>(value)];
                        },
                    },
                    distribution);
}

std::optional<double> internal_value(const ParameterDistribution& distribution, const ParameterValue& value) {
  if (const auto* categorical = std::get_if<CategoricalDistribution>(&distribution)) {
    // A choice of the same type first: [true, 1] has both.
    const auto& choices = categorical->choices;
    for (const bool same_type : {true, false}) {
      for (std::size_t i = 0; i < choices.size(); ++i) {
        if ((!same_type || choices[i].index() == value.index()) && same_value(choices[i], value))
          return static_cast<double>(i);
      }
    }
    return std::nullopt;
  }
  const std::optional<double> number = as_number(value);
  if (!number || std::isnan(*number)) return std::nullopt;
  if (std::holds_alternative<IntDistribution>(distribution) && *number != std::trunc(*number))
    return std::nullopt;
  return number;
}

std::string distribution_to_json(const ParameterDistribution& distribution) {
  return std::visit(
      Overloaded{
          [](const FloatDistribution& range) {
            std::string out = R"({"name": "FloatDistribution", "attributes": {"step": )";
            if (range.step) {
              append_json_number(*range.step, out);
            } else {
              out += "null";
            }
            out += R"(, "low": )";
            append_json_number(range.low, out);
            out += R"(, "high": )";
            append_json_number(range.high, out);
            out += range.log ? R"(, "log": true}})" : R"(, "log": false}})";
            return out;
          },
          [](const IntDistribution& range) {
            return format(
                R"({{"name": "IntDistribution", "attributes": {{"log": {}, "step": {}, "low": {}, "high": {}}}}})",
                range.log, range.step, range.low, range.high);
          },
          [](const CategoricalDistribution& categorical) {
            std::string out = R"({"name": "CategoricalDistribution", "attributes": {"choices": [)";
            for (std::size_t i = 0; i < categorical.choices.size(); ++i) {
              if (i > 0) out += ", ";
              out += to_json_text(categorical.choices[i]);
            }
            return out += "]}}";
          },
      },
      distribution);
}

ParameterDistribution parse_distribution(std::string_view text) {
  const std::vector<JsonMember> members = json_members(text);
  ParameterDistribution distribution;
  if (const JsonMember* name = find_member(members, "name")) {
    const JsonMember* attributes = find_member(members, "attributes");
    if (attributes == nullptr) throw PythonJsonError("'attributes' is missing", text.data());
    distribution = read_named(json_string(name->value), {attributes->value, json_members(attributes->value)});
  } else if (const JsonMember* type = find_member(members, "type")) {
    distribution = read_short(json_string(type->value), {text, members});
  } else {
    throw PythonJsonError("'name' is missing", text.data());
  }
  if (const std::string fault = fault_of(distribution); !fault.empty())
    throw PythonJsonError(fault, text.data());
  return adjusted(std::move(distribution));
}

ParameterDistribution distribution_from_json(std::string_view text, const std::string& file) {
  try {
    return parse_distribution(text);
  } catch (const PythonJsonError& error) {
    throw input_error({.file = file}, format("not a distribution: {}", error.what()));
  }
}

}  // namespace nadi::inline tuning
