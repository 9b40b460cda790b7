// Which elements dropout keeps (graph/ops/dropout.h says how they are numbered).
//
//   const DropoutMask mask({.random = call.inputs[1], .rate = 0.1, .site = site, .elements_per_sample = n});
//   mask.factors(first, count, factors);      // then y[i] = x[i] * factors[i]
#pragma once

#include <cstdint>

#include "nadi/base/random.h"
#include "nadi/cpu/kernel.h"

namespace nadi::inline engines::cpu {

struct DropoutArguments {
  const Operand& random;  // i64 [3]: seed, step, number of the batch's first sample
  double rate = 0;
  std::int64_t site = 0;
  std::int64_t elements_per_sample = 1;  // of the whole tensor, where this is part of one
};

class DropoutMask {
 public:
  explicit DropoutMask(const DropoutArguments& arguments);

  // What elements [first, first + count) are multiplied by: 0, or 1 / (1 - rate). Elements count from the
  // batch's first sample.
  void factors(std::int64_t first, std::int64_t count, float* factors) const;

 private:
  RandomKey key_;
  std::int64_t origin_;      // number in the global batch of the batch's first element
  std::uint32_t threshold_;  // least upper 24 bits of a word that keep an element
  float scale_;
};

}  // namespace nadi::inline engines::cpu
