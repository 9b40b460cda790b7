// How the next token is chosen (sample_kernels.cu): its memory, known without CUDA.
#pragma once

#include <algorithm>

#include "nadi/cuda/radix_sort.h"
#include "nadi/graph/op_definition.h"

namespace nadi::inline engines::cuda {

// Argmax: a row is cut into parts, so that all multiprocessors read of a single one.
struct ArgmaxPlan {
  ArgmaxPlan(const OpView& op, const DeviceTraits& traits)
      : rows(op.output(0).shape.elements()), vocabulary(op.attributes().integer("vocabulary")) {
    const std::int64_t enough =
        divided_up(std::int64_t{traits.multiprocessors}, std::max<std::int64_t>(rows, 1));
    parts = std::clamp<std::int64_t>(divided_up(vocabulary, kLeastPart), 1, enough);
    // Parts begin at the same offset from a multiple of 16 bytes as the row.
    part_columns = rounded_up(divided_up(vocabulary, parts), 8);
  }

  static constexpr std::int64_t kLeastPart = 1024;  // columns

  std::int64_t rows;
  std::int64_t vocabulary;
  std::int64_t parts;  // of a row
  std::int64_t part_columns;

  // The largest logit of each part and its column: 8 bytes.
  std::int64_t bytes() const { return rows * parts * 8; }
};

// Sampling: the row is sorted, and cut into parts of which the weights are summed.
struct SamplePlan {
  explicit SamplePlan(const OpView& op)
      : rows(op.output(0).shape.elements()),
        vocabulary(op.attributes().integer("vocabulary")),
        key_bits(op.input(0).dtype == DType::kF32 ? 32 : 16) {}

  static constexpr int kPart = 1024;  // tokens, in order: one per thread

  std::int64_t rows;
  std::int64_t vocabulary;
  int key_bits;  // logits as integers, in the order of decreasing logits

  RadixSortPlan sort() const { return {.rows = rows, .columns = vocabulary, .key_bits = key_bits}; }
  std::int64_t parts() const { return divided_up(vocabulary, kPart); }
  // The sorted tokens, then the sum of weights of each part.
  std::int64_t bytes() const {
    return sort().bytes() + rows * parts() * static_cast<std::int64_t>(sizeof(double));
  }
};

}  // namespace nadi::inline engines::cuda
