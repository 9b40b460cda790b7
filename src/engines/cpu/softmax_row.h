// Softmax of a row of fp32 scores in memory, in steps that attention takes tile by tile.
#pragma once

#include <cstdint>
#include <limits>

#include "nadi/cpu/blocks.h"
#include "nadi/cpu/vector_math.h"

namespace nadi::inline engines::cpu {

inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// What to subtract from scores whose largest is `largest`, so that a row without any key gives zeros.
inline float finite_base(float largest) {
  return largest == kMinusInfinity ? 0.0F : largest;
}

// Replaces scores by e^(score - base); their sum.
inline float exponentials(float* row, std::int64_t count, float base) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) {
    row[i] = fast_exp(row[i] - base);
    sum += row[i];
  }
  return sum;
}

inline void multiply_row(float* row, std::int64_t count, float factor) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) row[i] *= factor;
}

// Softmax of rows that come in pieces: e^(score - largest so far) and their sum, where a new largest scales
// down what was summed before.
struct RunningSoftmax {
  float largest = kMinusInfinity;
  float sum = 0;

  // Replaces scores by their exponentials; what earlier exponentials have to be multiplied by.
  float add(float* scores, std::int64_t count) {
    const float before = largest;
    const float here = largest_of(scores, count);
    if (here > largest) largest = here;
    const float base = finite_base(largest);
    const float shrink = fast_exp(before - base);  // 0 in the beginning
    sum = sum * shrink + exponentials(scores, count, base);
    return shrink;
  }
};

}  // namespace nadi::inline engines::cpu
