// Elements of several arrays combined into one, as all-reduce does it with what the members of a group have.
//
// In the order in which the arrays are given, and for bf16 and fp16 in fp32, rounded once at the end: so the
// result depends neither on how an array was cut into pieces nor on when they arrived.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "nadi/graph/dtype.h"
#include "nadi/graph/ops/collectives.h"

namespace nadi::inline engines {

struct CombineAs {
  DType dtype = DType::kF32;  // not fp8
  ReduceOp op = ReduceOp::kSum;
};

// Whether there is such a combination: not of fp8, and no average of integers.
bool can_combine(const CombineAs& as);

// `target` may be one of the arrays.
void combine(std::span<const std::byte* const> arrays, std::int64_t elements, const CombineAs& as,
             std::byte* target);

}  // namespace nadi::inline engines
