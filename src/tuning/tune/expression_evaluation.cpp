#include "nadi/tune/expression_evaluation.h"

#include <algorithm>
#include <cmath>

#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/tune/value_text.h"

namespace nadi::inline tuning {
namespace {

// Floor division; the divisor is not 0.
std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

struct Evaluation {
  const ExpressionText& whole;
  const Expression::Lookup& lookup;

  std::optional<ParameterValue> of(const ExpressionNode& node) const {
    if (node.operation == ExpressionOperation::kLiteral) return node.literal;
    if (node.operation == ExpressionOperation::kName) {
      const ParameterValue* value = lookup(node.name);
      return value == nullptr ? std::nullopt : std::optional(*value);
    }
    if (node.operation == ExpressionOperation::kOr || node.operation == ExpressionOperation::kAnd)
      return logic(node);
    std::vector<ParameterValue> values;
    for (const ExpressionNode& child : node.children) {
      auto value = of(child);
      if (!value) return std::nullopt;
      values.push_back(std::move(*value));
    }
    return combined(node, values);
  }

 private:
  // What decides alone decides, also where the other side has no value.
  std::optional<ParameterValue> logic(const ExpressionNode& node) const {
    const bool deciding = node.operation == ExpressionOperation::kOr;
    bool unknown = false;
    for (const ExpressionNode& child : node.children) {
      const auto value = of(child);
      if (!value)
        unknown = true;
      else if (truth(child, *value) == deciding)
        return deciding;
    }
    return unknown ? std::nullopt : std::optional<ParameterValue>(!deciding);
  }

  bool truth(const ExpressionNode& node, const ParameterValue& value) const {
    if (const auto* known = std::get_if<bool>(&value)) return *known;
    throw whole.error(node.begin, node.end, format("{} is no truth value", to_text(value)));
  }

  double number(const ExpressionNode& node, const ParameterValue& value) const {
    if (const auto known = number_of(value)) return *known;
    throw whole.error(node.begin, node.end, format("'{}' is no number", to_text(value)));
  }

  ParameterValue combined(const ExpressionNode& node, const std::vector<ParameterValue>& values) const {
    const auto at = [&](std::size_t i) { return number(node.children[i], values[i]); };
    switch (node.operation) {
      case ExpressionOperation::kLiteral:
      case ExpressionOperation::kName:
      case ExpressionOperation::kOr:
      case ExpressionOperation::kAnd:
        break;
      case ExpressionOperation::kNot:
        return !truth(node.children[0], values[0]);
      case ExpressionOperation::kEqual:
        return same_value(values[0], values[1]);
      case ExpressionOperation::kUnequal:
        return !same_value(values[0], values[1]);
      case ExpressionOperation::kIn:
        return std::any_of(values.begin() + 1, values.end(),
                           [&](const ParameterValue& value) { return same_value(values[0], value); });
      case ExpressionOperation::kLess:
        return at(0) < at(1);
      case ExpressionOperation::kLessEqual:
        return at(0) <= at(1);
      case ExpressionOperation::kGreater:
        return at(0) > at(1);
      case ExpressionOperation::kGreaterEqual:
        return at(0) >= at(1);
      case ExpressionOperation::kMinimum:
      case ExpressionOperation::kMaximum:
        return extreme(node, values);
      case ExpressionOperation::kFloor:
        return rounded(node, std::floor(at(0)));
      case ExpressionOperation::kCeiling:
        return rounded(node, std::ceil(at(0)));
      case ExpressionOperation::kAdd:
      case ExpressionOperation::kSubtract:
      case ExpressionOperation::kMultiply:
      case ExpressionOperation::kDivide:
      case ExpressionOperation::kDivideWhole:
      case ExpressionOperation::kRemainder:
      case ExpressionOperation::kNegate:
      case ExpressionOperation::kAbsolute:
      case ExpressionOperation::kDivides:
        return arithmetic(node, values);
    }
    unreachable();
  }

  ParameterValue extreme(const ExpressionNode& node, const std::vector<ParameterValue>& values) const {
    std::size_t best = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double one = number(node.children[i], values[i]);
      const double other = number(node.children[best], values[best]);
      if (node.operation == ExpressionOperation::kMinimum ? one < other : one > other) best = i;
    }
    return values[best];
  }

  ParameterValue rounded(const ExpressionNode& node, double value) const {
    if (!(std::abs(value) < 9e18)) throw whole.error(node.begin, node.end, "the whole number is too large");
    return static_cast<std::int64_t>(value);
  }

  ParameterValue arithmetic(const ExpressionNode& node, const std::vector<ParameterValue>& values) const {
    const auto* a = std::get_if<std::int64_t>(&values[0]);
    const auto* b = values.size() > 1 ? std::get_if<std::int64_t>(&values[1]) : a;
    if (a != nullptr && b != nullptr && node.operation != ExpressionOperation::kDivide)
      return whole_arithmetic(node, *a, *b);
    const double left = number(node.children[0], values[0]);
    const double right = values.size() > 1 ? number(node.children[1], values[1]) : left;
    const auto divisor = [&](double value) {
      if (value == 0) throw division_by_zero(node);
      return value;
    };
    switch (node.operation) {
      case ExpressionOperation::kAdd:
        return left + right;
      case ExpressionOperation::kSubtract:
        return left - right;
      case ExpressionOperation::kMultiply:
        return left * right;
      case ExpressionOperation::kDivide:
        return left / divisor(right);
      case ExpressionOperation::kDivideWhole:
        return std::floor(left / divisor(right));
      case ExpressionOperation::kRemainder:
        return left - right * std::floor(left / divisor(right));
      case ExpressionOperation::kNegate:
        return -left;
      case ExpressionOperation::kAbsolute:
        return std::abs(left);
      case ExpressionOperation::kDivides:
        return std::fmod(right, divisor(left)) == 0;
      default:
        unreachable();
    }
  }

  ParameterValue whole_arithmetic(const ExpressionNode& node, std::int64_t a, std::int64_t b) const {
    std::int64_t result = 0;
    bool overflow = false;
    const bool divides = node.operation == ExpressionOperation::kDivides;
    if (divides) std::swap(a, b);
    if (node.operation == ExpressionOperation::kDivideWhole ||
        node.operation == ExpressionOperation::kRemainder || divides) {
      if (b == 0) throw division_by_zero(node);
      if (b == -1)  // the least number has no counterpart
        overflow = node.operation == ExpressionOperation::kDivideWhole &&
                   __builtin_sub_overflow(std::int64_t{0}, a, &result);
      else
        result = node.operation == ExpressionOperation::kDivideWhole ? floor_divide(a, b)
                                                                     : a - b * floor_divide(a, b);
      if (divides) return result == 0;
    } else if (node.operation == ExpressionOperation::kAdd) {
      overflow = __builtin_add_overflow(a, b, &result);
    } else if (node.operation == ExpressionOperation::kSubtract) {
      overflow = __builtin_sub_overflow(a, b, &result);
    } else if (node.operation == ExpressionOperation::kMultiply) {
      overflow = __builtin_mul_overflow(a, b, &result);
    } else if (node.operation == ExpressionOperation::kNegate || a < 0) {
      overflow = __builtin_sub_overflow(std::int64_t{0}, a, &result);
    } else {
      result = a;  // abs()
    }
    if (overflow) throw whole.error(node.begin, node.end, "the whole number is too large");
    return result;
  }

  Error division_by_zero(const ExpressionNode& node) const {
    return whole.error(node.begin, node.end, "division by zero");
  }
};

}  // namespace

std::optional<ParameterValue> evaluate_expression(const ExpressionNode& root, const ExpressionText& text,
                                                  const Expression::Lookup& lookup) {
  return Evaluation{text, lookup}.of(root);
}

}  // namespace nadi::inline tuning
