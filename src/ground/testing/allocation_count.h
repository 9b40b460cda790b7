// For tests: how often memory was allocated with `new`, on any thread, while it was counted.
//
//   const std::int64_t count = allocations_in([&] { engine.run(...); });
//
// A test that uses this lists allocation_count.cpp among its sources: it replaces the operators of the whole
// program. Not counted is what libraries take with malloc() themselves, as those of MPI and of matrix
// products do.
#pragma once

#include <cstdint>
#include <functional>

namespace nadi::inline ground {

std::int64_t allocations_in(const std::function<void()>& body);

}  // namespace nadi::inline ground
