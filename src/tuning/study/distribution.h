// What a parameter of a trial can be: a range of floats, a range of integers, or one of several choices. The
// same three kinds as Optuna's, with the same rules, so that both programs take the same files.
//
//   const ParameterDistribution rate = FloatDistribution{.low = 1e-5, .high = 1e-2, .log = true};
//   const ParameterDistribution kind = CategoricalDistribution{{std::string("ring"), std::string("tree")}};
//   check_distribution(rate);                      // Error (usage) where it has no value
//   external_value(kind, 1.0);                     // "tree"
//
// A value inside a study is one double, whatever the kind ("internal value"): the number itself, or the index
// of a choice from 0. What is shown to people and programs is the "external value".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace nadi::inline tuning {

// A list, an object or a number beyond 64 bits, as JSON text. Optuna warns about such choices, but keeps
// them.
struct OtherJson {
  std::string text;
  bool operator==(const OtherJson&) const = default;
};

// std::monostate is null (Python's None). A double may be NaN or infinite.
using ParameterValue = std::variant<std::monostate, bool, std::int64_t, double, std::string, OtherJson>;

// As JSON: null, true, 3, 0.5, "ring". Like Python's, it has NaN, Infinity and -Infinity; a double always has
// a point or an exponent. As text, for command lines and tables: a string is written without quotes.
std::string to_json_text(const ParameterValue& value);
std::string to_text(const ParameterValue& value);

// Equal values of the same kind; NaN equals NaN. 1, 1.0 and true are equal, as in Python.
bool same_value(const ParameterValue& a, const ParameterValue& b);

struct FloatDistribution {
  double low = 0;
  double high = 1;               // included
  bool log = false;              // low > 0 then, and no step
  std::optional<double> step{};  // values are low + k step
  bool operator==(const FloatDistribution&) const = default;
};

struct IntDistribution {
  std::int64_t low = 0;
  std::int64_t high = 1;  // included
  bool log = false;       // low >= 1 then, and step is 1
  std::int64_t step = 1;
  bool operator==(const IntDistribution&) const = default;
};

struct CategoricalDistribution {
  std::vector<ParameterValue> choices;  // one at least
};

using ParameterDistribution = std::variant<FloatDistribution, IntDistribution, CategoricalDistribution>;

// Shared by all trials of a study whose parameter has it: ten thousand trials would otherwise have ten
// thousand lists of choices.
using SharedDistribution = std::shared_ptr<const ParameterDistribution>;

// Error (usage) for a range without a value, a logarithm of what is not positive, a step that is not
// positive, no choices. `name` is the parameter's, for the message.
void check_distribution(const ParameterDistribution& distribution, std::string_view name = "");

// With `high` lowered to the last value of the steps, as Optuna does when it makes one.
ParameterDistribution adjusted(ParameterDistribution distribution);

bool same_distribution(const ParameterDistribution& a, const ParameterDistribution& b);

// Whether trials of one study may have both for the same name: the same kind, the same `log`, and of a
// categorical the same choices. Ranges may differ.
bool are_compatible(const ParameterDistribution& a, const ParameterDistribution& b);

// Whether only one value is in it.
bool is_single(const ParameterDistribution& distribution);

bool contains(const ParameterDistribution& distribution, double internal_value);

// Between both sides. A value outside of the range is taken as it is; an index of no choice and a value that
// is none of the choices are std::nullopt.
std::optional<ParameterValue> external_value(const ParameterDistribution& distribution,
                                             double internal_value);
std::optional<double> internal_value(const ParameterDistribution& distribution, const ParameterValue& value);

// Optuna's text: {"name": "FloatDistribution", "attributes": {"step": null, "low": 0.2, "high": 0.5, "log":
// false}}. Reading takes the names of older versions, too. Error (input) for anything else; `file` is for the
// message.
std::string distribution_to_json(const ParameterDistribution& distribution);
ParameterDistribution distribution_from_json(std::string_view text, const std::string& file);

}  // namespace nadi::inline tuning
