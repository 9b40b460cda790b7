// For tests: numbers as a tensor's bytes and back.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "nadi/graph/tensor.h"
#include "nadi/reference/run_reference.h"

namespace nadi::inline engines {

// Rounded to the element type.
std::vector<std::byte> bytes_of(const Doubles& values, DType dtype);
Doubles doubles_of(std::span<const std::byte> bytes, DType dtype);

}  // namespace nadi::inline engines
