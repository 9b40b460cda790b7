// From the text of an expression to its tree. For sources of this room.
#pragma once

#include "nadi/tune/expression_node.h"

namespace nadi::inline tuning {

// Error (input) with carets below the mistake. Names and types are not looked at.
ExpressionNode parse_expression(const ExpressionText& text);

}  // namespace nadi::inline tuning
