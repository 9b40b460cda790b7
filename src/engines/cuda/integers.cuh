// Integers in memory of the device, i32 or i64: ids, targets, positions, counters.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "nadi/cuda/kernel.h"

namespace nadi::inline engines::cuda {

struct Integers {
  void* data = nullptr;  // nullptr means absent
  bool wide = false;     // i64
  std::int64_t count = 0;

  __device__ std::int64_t operator[](std::int64_t i) const {
    return wide ? static_cast<const std::int64_t*>(data)[i] : static_cast<const std::int32_t*>(data)[i];
  }
  __device__ void set(std::int64_t i, std::int64_t value) const {
    if (wide)
      static_cast<std::int64_t*>(data)[i] = value;
    else
      static_cast<std::int32_t*>(data)[i] = static_cast<std::int32_t>(value);
  }
};

inline Integers integers_of(const Operand& operand) {
  return {operand.data, operand.dtype() == DType::kI64, operand.elements()};
}
// Integers of input i, which may be absent.
inline Integers integers_of(const OpCall& op, std::size_t i) {
  return op.has(i) ? integers_of(op.inputs[i]) : Integers{};
}

}  // namespace nadi::inline engines::cuda
