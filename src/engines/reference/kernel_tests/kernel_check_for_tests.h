// For tests: runs a graph with the kernels of a device (kernel_device_for_tests.h) and with the reference
// engine, and compares every value that was computed and every variable that was written.
//
//   Problem p;                                              // reference/problem_for_tests.h
//   const TensorId x = p.normal_input("x", Shape{5, 768});
//   p.output(gelu(p.builder, x, ...));
//   expect_same_as_reference(p);
//
// Inputs and variables are rounded to their element types first, so that both compute with the same numbers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "nadi/parallel/variable_buckets.h"
#include "nadi/reference/problem_for_tests.h"

namespace nadi::inline engines {

struct KernelCheckOptions {
  std::vector<int> threads = {1, 2, 3};  // of a CPU: one after the other
  // Largest normalised mean square error, sum (x - reference)^2 / sum reference^2, of a tensor; 0 means the
  // device's own for the types of the tensors.
  double max_error = 0;
  // Variables that are zero but for rounding, with one whose size says how much rounding there may be.
  std::map<std::string, std::string> sizes = {};
  std::vector<VariableBucket> buckets = {};  // variables that lie one after the other, on a GPU
};

double normalized_error(const Doubles& values, const Doubles& reference);

// Adds a test failure for each tensor that differs by more. Integers must be equal.
void expect_same_as_reference(const Problem& problem, const KernelCheckOptions& options = {});

}  // namespace nadi::inline engines
