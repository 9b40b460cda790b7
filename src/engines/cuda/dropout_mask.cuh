// Which elements dropout keeps, in kernels (graph/ops/dropout.h says how elements are numbered).
//
//   const DropoutMask mask = dropout_mask(dropout, elements_per_sample);     // on the host; passed by value
//   const DropoutKey key(mask);                                            // in a thread, once
//   float factors[8];
//   key.factors<8>(number, factors);       // then y[i] = x[i] * factors[i] for elements number + i
//
// The key of the random numbers changes from step to step, and is read on the device. Four elements share a
// block of random words: threads take elements in multiples of four where their numbers allow it.
#pragma once

#include <cmath>
#include <cstdint>

#include "nadi/base/random.h"
#include "nadi/cuda/kernel.h"

namespace nadi::inline engines::cuda {

struct DropoutMask {
  const std::int64_t* random = nullptr;  // on the device: seed, step, number of the batch's first sample
  std::uint64_t site = 0;
  std::int64_t elements_per_sample = 1;  // of the whole tensor, where this is part of one
  std::uint32_t threshold = 0;           // least upper 24 bits of a word that keep an element
  float scale = 1;                       // of those that are kept
};

// A uniform number is a word's upper 24 bits times 2^-24, so that comparing it with the rate is comparing
// integers.
inline DropoutMask dropout_mask(const std::int64_t* random, double rate, std::int64_t site,
                                std::int64_t elements_per_sample) {
  return {.random = random,
          .site = static_cast<std::uint64_t>(site),
          .elements_per_sample = elements_per_sample,
          .threshold = static_cast<std::uint32_t>(std::ceil(rate * 0x1p24)),
          .scale = static_cast<float>(1 / (1 - rate))};
}

class DropoutKey {
 public:
  __device__ explicit DropoutKey(const DropoutMask& mask)
      : key_{.seed = static_cast<std::uint64_t>(mask.random[0]),
             .step = static_cast<std::uint64_t>(mask.random[1]),
             .site = mask.site},
        origin_(static_cast<std::uint64_t>(mask.random[2] * mask.elements_per_sample)),
        threshold_(mask.threshold),
        scale_(mask.scale) {}

  // Factors of elements [first, first + N), which count from the batch's first sample: 0, or 1 / (1 - rate).
  template <int N>
  __device__ void factors(std::int64_t first, float (&factors)[N]) const {
    const std::uint64_t number = origin_ + static_cast<std::uint64_t>(first);
    if (N % 4 == 0 && number % 4 == 0) {
#pragma unroll
      for (int i = 0; i < N; i += 4) {
        const RandomBlock words = random_block(key_, number / 4 + static_cast<std::uint64_t>(i / 4));
#pragma unroll
        for (int j = 0; j < 4 && i + j < N; ++j) factors[i + j] = factor(words[j]);
      }
    } else {
#pragma unroll
      for (int i = 0; i < N; ++i) factors[i] = 0;
#pragma unroll 1
      for (int i = 0; i < N; ++i) {
        const float one = factor_of(number + static_cast<std::uint64_t>(i));
        // A run-time index would move the array to local memory.
#pragma unroll
        for (int j = 0; j < N; ++j) factors[j] = j == i ? one : factors[j];
      }
    }
  }

 private:
  // A function of its own: the rare case is not to make every kernel longer.
  __device__ __noinline__ float factor_of(std::uint64_t number) const {
    return factor(random_word(key_, number));
  }
  __device__ float factor(std::uint32_t word) const {
    return (word >> 8) >= threshold_ ? scale_ : 0.0F;
  }

  RandomKey key_;
  std::uint64_t origin_;  // number in the global batch of the batch's first element
  std::uint32_t threshold_;
  float scale_;
};

// The numbers of a dropout op's elements. Those of one row (of axes 2 and on) follow each other; without
// `rows` all of them do.
struct DropoutRows {
  const std::int32_t* rows = nullptr;  // on the device; nullptr means the tensor is whole
  std::int64_t row_count = 1;          // of a sample here
  std::int64_t whole_rows = 1;         // of a sample in all
  std::int64_t width = 1;

  // Number of the first element of row `row`, counted over all samples.
  __device__ std::int64_t number_of_row(std::int64_t row) const {
    if (rows == nullptr) return row * width;
    const auto at = static_cast<std::uint32_t>(row), count = static_cast<std::uint32_t>(row_count);
    return (at / count * whole_rows + rows[at % count]) * width;
  }
  __device__ std::int64_t number_of(std::int64_t element) const {
    return rows == nullptr ? element : number_of_row(element / width) + element % width;
  }
};

// A dropout op: inputs x, random, rows.
struct DropoutOp {
  DropoutMask mask;
  DropoutRows rows;
};
inline DropoutOp dropout_op(const OpCall& op) {
  const Shape& shape = op.shape(0);
  DropoutRows rows;
  rows.rows = op.in<std::int32_t>(2);
  rows.row_count = shape.rank() > 1 ? shape[1] : 1;
  rows.width = shape.rank() > 1 ? shape.elements(2, shape.rank()) : 1;
  rows.whole_rows = rows.rows != nullptr ? op.attributes().integer("whole_rows") : rows.row_count;
  return {.mask = dropout_mask(op.in<std::int64_t>(1), op.attributes().real("rate"),
                               op.attributes().integer("site"), rows.whole_rows * rows.width),
          .rows = rows};
}

}  // namespace nadi::inline engines::cuda
