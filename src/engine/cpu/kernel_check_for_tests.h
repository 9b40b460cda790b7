// For tests: runs a graph op by op with the CPU's kernels and with the reference engine, and compares every
// value that was computed and every variable that was written.
//
//   Problem p;                                              // reference/problem.h
//   const TensorId x = p.normal_input("x", Shape{5, 768});
//   p.output(gelu(p.builder, x, ...));
//   expect_same_as_reference(p, {.threads = 2});
//
// Inputs and variables are rounded to their element types first, so that both compute with the same numbers.
// Each tensor has memory of its own, with guard bytes behind it that must stay as they are.
#pragma once

#include <string>

#include "nadi/engine/reference/problem_for_tests.h"

namespace nadi::cpu {

struct KernelCheckOptions {
  int threads = 1;
  // Largest normalised mean square error, sum (x - reference)^2 / sum reference^2, of a tensor; 0: 1e-10 for
  // fp32 results of fp32 inputs, 5e-5 where bf16 or fp16 is involved.
  double max_error = 0;
};

double normalized_error(const Doubles& values, const Doubles& reference);

// Adds a test failure for each tensor that differs by more. Integers must be equal.
void expect_same_as_reference(const Problem& problem, const KernelCheckOptions& options = {});

}  // namespace nadi::cpu
