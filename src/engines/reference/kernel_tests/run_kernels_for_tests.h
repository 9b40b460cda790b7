// For tests of what the reference cannot be asked about: errors, infinities, the same bits. Runs a graph's
// ops with the device's kernels alone, one by one.
#pragma once

#include <string>
#include <vector>

#include "nadi/reference/problem_for_tests.h"

namespace nadi::inline engines {

// The bytes of each of the problem's outputs after all ops ran. `threads`: of a CPU.
std::vector<std::vector<std::byte>> run_kernels(const Problem& problem, int threads);

// The same for a single fp32 output.
std::vector<float> run_kernels_for_floats(const Problem& problem, int threads);

// The message of the Error that running throws; "" when it does not.
std::string error_of_kernels(const Problem& problem, int threads);

}  // namespace nadi::inline engines
