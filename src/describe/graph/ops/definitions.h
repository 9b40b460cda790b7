// The definitions that graph/ops/table.cpp collects, one function for each op of op_list.h.
#pragma once

#include "nadi/graph/op_definition.h"

namespace nadi::inline describe {

#define NADI_OP(kind, name) OpDefinition name##_definition();
#include "nadi/graph/op_list.h"

}  // namespace nadi::inline describe
