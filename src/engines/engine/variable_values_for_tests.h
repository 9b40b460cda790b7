// For tests: the elements of a variable as floats, whatever its element type.
#pragma once

#include <cstddef>
#include <vector>

#include "nadi/engine/element.h"
#include "nadi/engine/engine.h"

namespace nadi::inline engines {

inline std::vector<std::byte> bytes_of(const Engine& engine, const Tensor& variable) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(variable.size().count()));
  engine.read(variable.name, 0, bytes);
  return bytes;
}

inline std::vector<float> values_of(const Engine& engine, const Tensor& variable) {
  const std::vector<std::byte> bytes = bytes_of(engine, variable);
  std::vector<float> values(static_cast<std::size_t>(variable.shape.elements()));
  convert_to_float(bytes.data(), variable.dtype, variable.shape.elements(), values.data());
  return values;
}

}  // namespace nadi::inline engines
