// For tests that run on every rank of an MPI job: the communicator, and numbers in any element type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nadi/comm/communicator.h"

namespace nadi::inline engines {

Communicator& test_world();

// Values as elements of a type, rounded once; and back.
std::vector<std::byte> encoded(std::span<const double> values, DType dtype);
std::vector<double> decoded(std::span<const std::byte> bytes, DType dtype);

// The sum of the members' numbers; also meets all members.
std::int64_t sum_over(CommGroup group, std::int64_t number);

}  // namespace nadi::inline engines
