// The file of a space: reading, and writing as a study keeps it.
#include <algorithm>
#include <array>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/json.h"
#include "nadi/base/nearest.h"
#include "nadi/tune/tune_space.h"
#include "nadi/tune/value_text.h"

namespace nadi::inline tuning {
namespace {

constexpr std::int64_t kSpaceVersion = 1;
constexpr std::size_t kMostParameters = 1000;
constexpr std::size_t kMostChoices = 10'000;

constexpr std::array<std::string_view, 8> kSpaceKeys{
    "nadi_tune_space", "about", "constants", "parameters", "derived", "constraints", "plan", "$schema"};
constexpr std::array<std::string_view, 11> kParameterKeys{
    "values", "range", "step", "log", "default", "when", "flag", "flag_off", "environment", "omit", "words"};
constexpr std::string_view kAboutKey = "about";

struct PlanKey {
  std::string_view key;
  std::string PlanParameters::*member;
};
constexpr std::array kPlanKeys{
    PlanKey{"tp", &PlanParameters::tp},
    PlanKey{"pp", &PlanParameters::pp},
    PlanKey{"cp", &PlanParameters::cp},
    PlanKey{"virtual_stages", &PlanParameters::virtual_stages},
    PlanKey{"micro_batch_size", &PlanParameters::micro_batch_size},
    PlanKey{"sequence_parallel", &PlanParameters::sequence_parallel},
    PlanKey{"zero", &PlanParameters::zero},
    PlanKey{"recompute", &PlanParameters::recompute},
    PlanKey{"recompute_method", &PlanParameters::recompute_method},
    PlanKey{"recompute_layers", &PlanParameters::recompute_layers},
    PlanKey{"partition", &PlanParameters::partition},
};

ParameterValue value_of_json(const JsonValue& value) {
  if (value.is_bool()) return value.as_bool();
  if (value.is_string()) return value.as_string();
  if (!value.is_number()) throw error_at(value, "a value is a number, a text, true or false");
  try {
    return value.as_int64();
  } catch (const Error&) {
    return value.as_double();
  }
}

ParameterDistribution range_of_json(const JsonValue& parameter) {
  const JsonValue range = parameter.at("range");
  if (range.size() != 2) throw error_at(range, "a range has two numbers: the least and the greatest value");
  const ParameterValue low = value_of_json(range.at(std::size_t{0}));
  const ParameterValue high = value_of_json(range.at(std::size_t{1}));
  if (!number_of(low) || !number_of(high)) throw error_at(range, "a range has two numbers");
  const bool log = parameter.has("log") && parameter.at("log").as_bool();
  std::optional<ParameterValue> step;
  if (parameter.has("step")) step = value_of_json(parameter.at("step"));
  if (step && !number_of(*step)) throw error_at(parameter.at("step"), "a step is a number");
  if (std::holds_alternative<std::int64_t>(low) && std::holds_alternative<std::int64_t>(high) &&
      (!step || std::holds_alternative<std::int64_t>(*step)))
    return IntDistribution{.low = std::get<std::int64_t>(low),
                           .high = std::get<std::int64_t>(high),
                           .log = log,
                           .step = step ? std::get<std::int64_t>(*step) : 1};
  FloatDistribution distribution{.low = *number_of(low), .high = *number_of(high), .log = log};
  if (step) distribution.step = number_of(*step);
  return distribution;
}

ParameterDistribution choices_of_json(const JsonValue& values) {
  CategoricalDistribution choices;
  if (values.size() > kMostChoices) throw error_at(values, format("more than {} values", kMostChoices));
  for (const JsonValue& value : values.elements()) {
    choices.choices.push_back(value_of_json(value));
    for (std::size_t i = 0; i + 1 < choices.choices.size(); ++i)
      if (same_value(choices.choices[i], choices.choices.back()))
        throw error_at(value, "the value is there twice");
  }
  if (choices.choices.empty()) throw error_at(values, "there are no values");
  return choices;
}

std::string text_or_none(const JsonValue& object, std::string_view key) {
  const auto value = object.find(key);
  return value ? value->as_string() : "";
}

TuneParameter parameter_of_json(std::string_view name, const JsonValue& value) {
  std::vector<std::string_view> known(kParameterKeys.begin(), kParameterKeys.end());
  known.push_back(kAboutKey);
  value.refuse_keys_except(known);
  TuneParameter parameter{.name = std::string(name)};
  const bool has_values = value.has("values");
  if (has_values == value.has("range"))
    throw error_at(value, format("parameter '{}' needs either \"values\" or \"range\"", name));
  if (has_values && (value.has("log") || value.has("step")))
    throw error_at(value, "\"log\" and \"step\" belong to a \"range\"");
  ParameterDistribution distribution =
      has_values ? choices_of_json(value.at("values")) : range_of_json(value);
  try {
    check_distribution(distribution, name);
  } catch (const Error& error) {
    throw error_at(value, error.message(), error.hint());
  }
  parameter.distribution = std::make_shared<const ParameterDistribution>(adjusted(std::move(distribution)));
  if (const auto when = value.find("when"))
    parameter.when =
        Expression::parse(when->as_string(), format("{}: condition of '{}'", value.file(), name));
  if (const auto fallback = value.find("default")) {
    parameter.fallback = value_of_json(*fallback);
    const auto inside = internal_value(*parameter.distribution, *parameter.fallback);
    if (!inside || !contains(*parameter.distribution, *inside))
      throw error_at(*fallback, format("the default of '{}' is none of its values", name),
                     format("its values: {}", values_text(*parameter.distribution)));
  }
  parameter.flag = text_or_none(value, "flag");
  parameter.flag_off = text_or_none(value, "flag_off");
  parameter.environment = text_or_none(value, "environment");
  if (const auto omit = value.find("omit"))
    for (const JsonValue& each : omit->elements()) parameter.omitted.push_back(value_of_json(each));
  if (const auto words = value.find("words"))
    for (const auto& [text, list] : words->items()) {
      if (!has_value_named(*parameter.distribution, text))
        throw error_at(list, format("'{}' is none of the values of '{}'", text, name),
                       format("its values: {}", values_text(*parameter.distribution)));
      std::vector<std::string>& appended = parameter.words[std::string(text)];
      for (const JsonValue& word : list.elements()) appended.push_back(word.as_string());
    }
  parameter.about = text_or_none(value, kAboutKey);
  return parameter;
}

TuneConstraint constraint_of_json(const JsonValue& value, std::size_t number) {
  const std::string source = format("{}: constraint {}", value.file(), number);
  if (value.is_string()) return {.expression = Expression::parse(value.as_string(), source)};
  constexpr std::array<std::string_view, 2> kKeys{"expression", "because"};
  value.refuse_keys_except(kKeys);
  return {.expression = Expression::parse(value.at("expression").as_string(), source),
          .because = text_or_none(value, "because")};
}

TuneSpace space_of_json(const JsonValue& root) {
  root.refuse_keys_except(kSpaceKeys);
  TuneSpace space;
  if (const auto version = root.find("nadi_tune_space"); version && version->as_int64() != kSpaceVersion)
    throw error_at(*version, format("version {} of the format; this program reads {}", version->as_int64(),
                                    kSpaceVersion));
  space.about = text_or_none(root, kAboutKey);
  if (const auto constants = root.find("constants"))
    for (const auto& [name, value] : constants->items())
      space.constants.emplace_back(name, value_of_json(value));
  const JsonValue parameters = root.at("parameters");
  if (parameters.size() > kMostParameters)
    throw error_at(parameters, format("more than {} parameters", kMostParameters));
  for (const auto& [name, value] : parameters.items())
    space.parameters.push_back(parameter_of_json(name, value));
  if (const auto derived = root.find("derived"))
    for (const auto& [name, value] : derived->items())
      space.derived.push_back(
          {.name = std::string(name),
           .expression = Expression::parse(value.as_string(), format("{}: '{}'", root.file(), name))});
  if (const auto constraints = root.find("constraints")) {
    std::size_t number = 0;
    for (const JsonValue& value : constraints->elements())
      space.constraints.push_back(constraint_of_json(value, ++number));
  }
  if (const auto plan = root.find("plan")) {
    std::vector<std::string_view> known;
    for (const PlanKey& key : kPlanKeys) known.push_back(key.key);
    plan->refuse_keys_except(known);
    for (const PlanKey& key : kPlanKeys)
      if (const auto name = plan->find(key.key)) {
        const std::string& text = name->as_string();
        if (space.find(text) == nullptr && space.find_constant(text) == nullptr)
          throw error_at(*name, format("no parameter and no constant '{}'", text),
                         did_you_mean(text, space.names()));
        space.plan.*key.member = name->as_string();
      }
  }
  return space;
}

Json json_of_value(const ParameterValue& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return nullptr;
}

Json json_of_parameter(const TuneParameter& parameter) {
  Json json = Json::object();
  if (const auto* range = std::get_if<FloatDistribution>(&*parameter.distribution)) {
    json["range"] = {range->low, range->high};
    if (range->log) json["log"] = true;
    if (range->step) json["step"] = *range->step;
  } else if (const auto* whole = std::get_if<IntDistribution>(&*parameter.distribution)) {
    json["range"] = {whole->low, whole->high};
    if (whole->log) json["log"] = true;
    if (whole->step != 1) json["step"] = whole->step;
  } else {
    json["values"] = Json::array();
    for (const ParameterValue& choice : std::get<CategoricalDistribution>(*parameter.distribution).choices)
      json["values"].push_back(json_of_value(choice));
  }
  if (parameter.fallback) json["default"] = json_of_value(*parameter.fallback);
  if (parameter.when) json["when"] = parameter.when->text();
  const auto add = [&](const char* key, const std::string& text) {
    if (!text.empty()) json[key] = text;
  };
  add("flag", parameter.flag);
  add("flag_off", parameter.flag_off);
  add("environment", parameter.environment);
  for (const ParameterValue& value : parameter.omitted) json["omit"].push_back(json_of_value(value));
  for (const auto& [text, words] : parameter.words) json["words"][text] = words;
  add("about", parameter.about);
  return json;
}

}  // namespace

TuneSpace read_tune_space(const std::filesystem::path& path) {
  const JsonDocument document = read_json(path);
  return space_of_json(document.root());
}

TuneSpace parse_tune_space(std::string text, const std::string& file) {
  const JsonDocument document = parse_json(std::move(text), file);
  return space_of_json(document.root());
}

std::string tune_space_json(const TuneSpace& space) {
  Json json{{"nadi_tune_space", kSpaceVersion}};
  if (!space.about.empty()) json["about"] = space.about;
  json["constants"] = Json::object();
  for (const auto& [name, value] : space.constants) json["constants"][name] = json_of_value(value);
  json["parameters"] = Json::object();
  for (const TuneParameter& parameter : space.parameters)
    json["parameters"][parameter.name] = json_of_parameter(parameter);
  json["derived"] = Json::object();
  for (const NamedExpression& value : space.derived) json["derived"][value.name] = value.expression.text();
  json["constraints"] = Json::array();
  for (const TuneConstraint& constraint : space.constraints) {
    if (constraint.because.empty())
      json["constraints"].push_back(constraint.expression.text());
    else
      json["constraints"].push_back(
          {{"expression", constraint.expression.text()}, {"because", constraint.because}});
  }
  for (const PlanKey& key : kPlanKeys)
    if (!(space.plan.*key.member).empty()) json["plan"][std::string(key.key)] = space.plan.*key.member;
  return json.dump();
}

}  // namespace nadi::inline tuning
