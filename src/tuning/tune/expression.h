// Small expressions over parameters: the constraints of a space, and what follows from parameters.
//
//   const Expression fits = Expression::parse("gpus % (tensor * pipeline) == 0", "constraint");
//   fits.check(types);                                     // names and types, before any trial
//   fits.is_true(values);
//
// Literals: 4, 0.5, 1e-3, true, false, 'text' or "text". Operators, from the loosest: or, and, not; == != <
// <= > >= and `in [a, b]`; + -; * / // %; unary minus. Functions: min, max (of two or more), abs, floor,
// ceil, divides(a, b). || && ! are or, and, not. A name is of letters, digits, '_' and '.'.
//
// Whole numbers stay whole under + - * // %, and overflow is an error; / gives a number with a fraction. //
// and % round towards minus infinity, as Python's do. A text is compared with texts only, a truth value with
// truth values.
//
// Everything wrong is Error (input) that shows the expression with carets below the mistake.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nadi/study/distribution.h"

namespace nadi::inline tuning {

enum class ValueType : std::uint8_t { kNumber, kTruth, kText, kMixed };  // kMixed: known for each value only

ValueType type_of_value(const ParameterValue& value);

class Expression {
 public:
  // `source` is what messages call it: "constraint 2 of space.json".
  static Expression parse(std::string text, std::string source);

  // nullopt means there is no such name.
  using TypeOf = std::function<std::optional<ValueType>(std::string_view name)>;
  // Error (input) for names that do not exist, with a hint from `known`, and for operators that do not take
  // what they are given. Returns the type of the result.
  ValueType check(const TypeOf& type_of, const std::vector<std::string>& known) const;

  // nullptr means the parameter has no value in this trial.
  using Lookup = std::function<const ParameterValue*(std::string_view name)>;
  // Nothing when a name has no value. Error (input) for division by zero and overflow.
  std::optional<ParameterValue> value(const Lookup& lookup) const;
  // Nothing as well; Error (input) when the value is no truth value.
  std::optional<bool> is_true(const Lookup& lookup) const;

  const std::string& text() const { return *text_; }
  // Each once, in the order of the text.
  std::vector<std::string> names() const;

  struct Node;

 private:
  std::shared_ptr<const std::string> text_;  // shared by copies, as the tree is: both never change
  std::shared_ptr<const std::string> source_;
  std::shared_ptr<const Node> root_;
};

}  // namespace nadi::inline tuning
