// The interface, and the check of names and types; see expression_parser.cpp and expression_evaluation.cpp.
#include "nadi/tune/expression.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/nearest.h"
#include "nadi/tune/expression_evaluation.h"
#include "nadi/tune/expression_node.h"
#include "nadi/tune/expression_parser.h"
#include "nadi/tune/value_text.h"

namespace nadi::inline tuning {
namespace {

std::string_view name_of(ValueType type) {
  switch (type) {
    case ValueType::kNumber:
      return "a number";
    case ValueType::kTruth:
      return "a truth value";
    case ValueType::kText:
      return "a text";
    case ValueType::kMixed:
      return "a value of any kind";
  }
  unreachable();
}

struct TypeCheck {
  const ExpressionText& whole;
  const Expression::TypeOf& type_of;
  const std::vector<std::string>& known;

  void expect(const ExpressionNode& node, ValueType wanted) const {
    const ValueType type = of(node);
    if (type != wanted && type != ValueType::kMixed)
      throw whole.error(
          node.begin, node.end,
          format("'{}' is {}, and {} is needed here", whole.text.substr(node.begin, node.end - node.begin),
                 name_of(type), name_of(wanted)));
  }

  void expect_same(const ExpressionNode& left, const ExpressionNode& right) const {
    const ValueType a = of(left);
    const ValueType b = of(right);
    if (a != b && a != ValueType::kMixed && b != ValueType::kMixed)
      throw whole.error(left.begin, right.end, format("{} and {} are never equal", name_of(a), name_of(b)));
  }

  ValueType of(const ExpressionNode& node) const {
    const std::vector<ExpressionNode>& child = node.children;
    switch (node.operation) {
      case ExpressionOperation::kLiteral:
        return type_of_value(node.literal);
      case ExpressionOperation::kName: {
        const auto type = type_of(node.name);
        if (!type)
          throw whole.error(node.begin, node.end, format("unknown name '{}'", node.name),
                            did_you_mean(node.name, known));
        return *type;
      }
      case ExpressionOperation::kOr:
      case ExpressionOperation::kAnd:
      case ExpressionOperation::kNot:
        for (const ExpressionNode& part : child) expect(part, ValueType::kTruth);
        return ValueType::kTruth;
      case ExpressionOperation::kEqual:
      case ExpressionOperation::kUnequal:
        expect_same(child[0], child[1]);
        return ValueType::kTruth;
      case ExpressionOperation::kIn:
        for (std::size_t i = 1; i < child.size(); ++i) expect_same(child[0], child[i]);
        return ValueType::kTruth;
      case ExpressionOperation::kLess:
      case ExpressionOperation::kLessEqual:
      case ExpressionOperation::kGreater:
      case ExpressionOperation::kGreaterEqual:
      case ExpressionOperation::kDivides:
        for (const ExpressionNode& part : child) expect(part, ValueType::kNumber);
        return ValueType::kTruth;
      case ExpressionOperation::kAdd:
      case ExpressionOperation::kSubtract:
      case ExpressionOperation::kMultiply:
      case ExpressionOperation::kDivide:
      case ExpressionOperation::kDivideWhole:
      case ExpressionOperation::kRemainder:
      case ExpressionOperation::kNegate:
      case ExpressionOperation::kMinimum:
      case ExpressionOperation::kMaximum:
      case ExpressionOperation::kAbsolute:
      case ExpressionOperation::kFloor:
      case ExpressionOperation::kCeiling:
        for (const ExpressionNode& part : child) expect(part, ValueType::kNumber);
        return ValueType::kNumber;
    }
    unreachable();
  }
};

void collect_names(const ExpressionNode& node, std::vector<std::string>& names) {
  if (node.operation == ExpressionOperation::kName && std::ranges::find(names, node.name) == names.end())
    names.push_back(node.name);
  for (const ExpressionNode& child : node.children) collect_names(child, names);
}

}  // namespace

ValueType type_of_value(const ParameterValue& value) {
  if (std::holds_alternative<bool>(value)) return ValueType::kTruth;
  if (std::holds_alternative<std::string>(value)) return ValueType::kText;
  return number_of(value) ? ValueType::kNumber : ValueType::kMixed;
}

Expression Expression::parse(std::string text, std::string source) {
  Expression expression;
  expression.text_ = std::make_shared<const std::string>(std::move(text));
  expression.source_ = std::make_shared<const std::string>(std::move(source));
  const ExpressionText whole{*expression.source_, *expression.text_};
  expression.root_ = std::make_shared<const Node>(parse_expression(whole));
  return expression;
}

ValueType Expression::check(const TypeOf& type_of, const std::vector<std::string>& known) const {
  const ExpressionText whole{*source_, *text_};
  return TypeCheck{whole, type_of, known}.of(*root_);
}

std::optional<ParameterValue> Expression::value(const Lookup& lookup) const {
  const ExpressionText whole{*source_, *text_};
  return evaluate_expression(*root_, whole, lookup);
}

std::optional<bool> Expression::is_true(const Lookup& lookup) const {
  const auto result = value(lookup);
  if (!result) return std::nullopt;
  if (const auto* known = std::get_if<bool>(&*result)) return *known;
  throw ExpressionText{*source_, *text_}.error(0, text_->size(),
                                               format("{} is no truth value", to_text(*result)));
}

std::vector<std::string> Expression::names() const {
  std::vector<std::string> names;
  collect_names(*root_, names);
  return names;
}

}  // namespace nadi::inline tuning
