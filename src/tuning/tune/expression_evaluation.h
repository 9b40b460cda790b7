// The value of an expression. For sources of this room.
#pragma once

#include <optional>

#include "nadi/tune/expression_node.h"

namespace nadi::inline tuning {

// Nothing when a name that matters has no value: `or` and `and` are decided by one side where that suffices.
// Error (input) for division by zero, overflow, and operators that do not take what they are given.
std::optional<ParameterValue> evaluate_expression(const ExpressionNode& root, const ExpressionText& text,
                                                  const Expression::Lookup& lookup);

}  // namespace nadi::inline tuning
