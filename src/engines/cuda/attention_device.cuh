// Device code that the attention kernels share: which keys a query sees, and which probabilities dropout
// keeps.
#pragma once

#include <cuda_runtime.h>

#include <climits>
#include <cstdint>

#include "nadi/base/random.h"
#include "nadi/cuda/attention_operands.h"
#include "nadi/cuda/device_code.cuh"

namespace nadi::inline engines::cuda {

// A query sees the keys at positions below this.
__device__ inline int attention_limit(const AttentionOperands& in, int b, int token) {
  int limit = INT_MAX;
  if (in.causal) {
    const int first = in.positions != nullptr ? in.positions[b] : 0;
    limit = 1 + (in.query_positions != nullptr ? in.query_positions[token] : first + token);
  }
  if (in.lengths != nullptr) limit = min(limit, in.lengths[b]);
  return limit;
}

// INT_MAX, which no query sees, behind the last key.
__device__ inline int key_position(const AttentionOperands& in, int key) {
  if (key >= static_cast<int>(in.extents.S)) return INT_MAX;
  return in.key_positions != nullptr ? in.key_positions[key] : key;
}

// In elements from `rows.data` on.
__device__ inline std::int64_t row_offset(const HeadRows& rows, int b, int token, int head) {
  return b * rows.batch_stride + token * rows.token_stride + head * rows.head_stride;
}

// The counted random numbers of one launch (base/random.h): element i takes word i % 4 of block i / 4.
class AttentionRandom {
 public:
  __device__ explicit AttentionRandom(const AttentionOperands& in)
      : in_(in), threshold_(in.dropout.threshold << 8) {
    const AttentionDropout& dropout = in.dropout;
    if (dropout.random == nullptr) return;
    const auto seed = static_cast<std::uint64_t>(dropout.random[0]);
    step_ = static_cast<std::uint64_t>(dropout.random[1]);
    origin_ = dropout.random[2] * dropout.heads * dropout.tokens * in.extents.S;
    key_ = philox_key({.seed = seed, .step = 0, .site = static_cast<std::uint64_t>(dropout.site)});
  }

  // Whether every row of probabilities begins with a block, and four keys are one.
  __device__ bool in_fours() const { return in_.key_positions == nullptr && in_.extents.S % 4 == 0; }

  // Number of the probability of the key at position 0, for this query.
  __device__ std::int64_t row(int b, int head, int token) const {
    const int whole_head = in_.head_ids != nullptr ? in_.head_ids[head] : head;
    return origin_ + ((b * in_.dropout.heads + whole_head) * in_.dropout.tokens + token) * in_.extents.S;
  }

  // The words of several blocks. They go through the rounds together: integers are what these kernels have
  // least time for, and so the keys of a round are computed once.
  template <int N>
  __device__ void words(const std::uint64_t (&blocks)[N], unsigned (&words)[N][4]) const {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      words[i][0] = static_cast<unsigned>(blocks[i]);
      words[i][1] = static_cast<unsigned>(blocks[i] >> 32);
      words[i][2] = static_cast<unsigned>(step_);
      words[i][3] = static_cast<unsigned>(step_ >> 32);
    }
    auto key0 = static_cast<unsigned>(key_), key1 = static_cast<unsigned>(key_ >> 32);
#pragma unroll
    for (int round = 0; round < 10; ++round) {
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const std::uint64_t product0 = std::uint64_t{0xD2511F53} * words[i][0];
        const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * words[i][2];
        words[i][0] = static_cast<unsigned>(product1 >> 32) ^ words[i][1] ^ key0;
        words[i][1] = static_cast<unsigned>(product1);
        words[i][2] = static_cast<unsigned>(product0 >> 32) ^ words[i][3] ^ key1;
        words[i][3] = static_cast<unsigned>(product0);
      }
      key0 += 0x9E3779B9;
      key1 += 0xBB67AE85;
    }
  }
  // Whether the element that a word belongs to is kept.
  __device__ bool keeps(unsigned word) const {
    return word >= threshold_;
  }

  // Bit j: whether element 4 * block + j is kept.
  __device__ unsigned kept_of_block(std::int64_t block) const {
    unsigned of_block[1][4], bits = 0;
    words({static_cast<std::uint64_t>(block)}, of_block);
#pragma unroll
    for (unsigned j = 0; j < 4; ++j) bits |= static_cast<unsigned>(keeps(of_block[0][j])) << j;
    return bits;
  }
  __device__ bool kept(std::int64_t element) const {
    return (kept_of_block(element / 4) >> (element % 4) & 1U) != 0;
  }
  __device__ float scale() const {
    return in_.dropout.scale;
  }

 private:
  const AttentionOperands& in_;
  std::uint32_t threshold_;  // least word that keeps an element
  std::uint64_t step_ = 0;
  std::uint64_t key_ = 0;
  std::int64_t origin_ = 0;
};

// Number of a query's token among those of all ranks, for dropout.
__device__ inline int dropout_token(const AttentionOperands& in, int token) {
  return in.query_positions != nullptr ? in.query_positions[token] : token;
}

}  // namespace nadi::inline engines::cuda
