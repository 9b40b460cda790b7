// Elements of any type as doubles and back: what crosses the border of the reference engine.
#pragma once

#include <cstddef>
#include <span>

#include "nadi/graph/dtype.h"
#include "nadi/reference/reference_store.h"

namespace nadi::inline engines {

// All elements of the bytes, exactly; integers beyond 2^53 are rounded.
Doubles to_doubles(std::span<const std::byte> elements, DType dtype);

// Rounded to nearest; as many elements as there are values. Floating-point types go through fp32.
void from_doubles(std::span<const double> values, DType dtype, std::span<std::byte> into);

}  // namespace nadi::inline engines
