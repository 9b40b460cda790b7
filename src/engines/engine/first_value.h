// First values of variables and constants, in host memory: those of the reference engine, rounded
// to the tensor's element type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nadi/graph/shard.h"
#include "nadi/graph/tensor.h"

namespace nadi::inline engines {

// How a tensor gets its first value. For a tensor that is part of a whole, `place` says where the rank
// stands.
struct FirstValue {
  const Tensor& tensor;  // its name, shape, shards and initializer, none that refers to others
  std::uint64_t seed = 0;
  const PlaceInGroup& place;
  int threads = 1;
};

// Writes elements of type `dtype`: the tensor's own, or fp32 for a copy from before the rounding.
void write_first_value(const FirstValue& value, DType dtype, std::byte* target);

// The part of `whole` that the tensor is, fp32.
void write_part(const FirstValue& value, std::span<const float> whole, std::byte* target);

}  // namespace nadi::inline engines
