// The tree of an expression, which the parser makes and the evaluation walks. For sources of this room.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "nadi/base/error.h"
#include "nadi/base/text_error.h"
#include "nadi/tune/expression.h"

namespace nadi::inline tuning {

enum class ExpressionOperation : std::uint8_t {
  kLiteral,
  kName,
  kOr,
  kAnd,
  kNot,
  kEqual,
  kUnequal,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,  // the first child in the others
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kDivideWhole,
  kRemainder,
  kNegate,
  kMinimum,
  kMaximum,
  kAbsolute,
  kFloor,
  kCeiling,
  kDivides
};

struct Expression::Node {
  ExpressionOperation operation = ExpressionOperation::kLiteral;
  ParameterValue literal = {};
  std::string name = {};
  std::vector<Node> children = {};
  std::size_t begin = 0, end = 0;  // in the text
};

using ExpressionNode = Expression::Node;

// What an expression was written as, for messages with carets.
struct ExpressionText {
  const std::string& source;
  const std::string& text;

  Error error(std::size_t begin, std::size_t end, std::string message, std::string hint = "") const {
    return error_in_text({.file = source, .text = text, .begin = begin, .end = std::max(end, begin + 1)},
                         std::move(message), std::move(hint));
  }
};

}  // namespace nadi::inline tuning
