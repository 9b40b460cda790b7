// How the gradient of an embedding is summed (embedding_grad_kernel.cu): its memory, known without CUDA.
#pragma once

#include "nadi/cuda/radix_sort.h"
#include "nadi/graph/op_definition.h"

namespace nadi::inline engines::cuda {

struct EmbeddingGradPlan {
  explicit EmbeddingGradPlan(const OpView& op)
      : tokens(op.in(0).elements()), rows(op.attributes().integer("rows")), width(op.in(1)[-1]) {}

  static constexpr int kTile = 32;  // sorted tokens that a block sums

  std::int64_t tokens;
  std::int64_t rows;  // of the table
  std::int64_t width;

  // Tokens that are not of the table have the key `rows`.
  RadixSortPlan sort() const {
    return {.rows = 1,
            .columns = tokens,
            .key_bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows)))};
  }
  std::int64_t tiles() const { return divided_up(tokens, kTile); }
  // The sorted tokens, then two sums per tile.
  std::int64_t bytes() const {
    return sort().bytes() + tiles() * 2 * width * static_cast<std::int64_t>(sizeof(float));
  }
};

}  // namespace nadi::inline engines::cuda
