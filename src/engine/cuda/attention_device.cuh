// Device code that the attention kernels share: which keys a query sees, and which probabilities dropout
// keeps.
#pragma once

#include <cuda_runtime.h>

#include <climits>
#include <cstdint>

#include "nadi/base/random.h"
#include "nadi/engine/cuda/attention_operands.h"
#include "nadi/engine/cuda/device_code.cuh"

namespace nadi::cuda {

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
      : dropout_(in.dropout), head_ids_(in.head_ids), S_(in.extents.S) {
    if (dropout_.random == nullptr) return;
    const auto seed = static_cast<std::uint64_t>(dropout_.random[0]);
    step_ = static_cast<std::uint64_t>(dropout_.random[1]);
    origin_ = dropout_.random[2] * dropout_.heads * dropout_.tokens * S_;
    // As random_block() has it.
    std::uint64_t mixed = seed + 0x9E3779B97F4A7C15;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    key_ = mixed ^ (mixed >> 31) ^ static_cast<std::uint64_t>(dropout_.site);
  }

  // Number of the probability of the key at position 0, for this query.
  __device__ std::int64_t row(int b, int head, int token) const {
    const int whole_head = head_ids_ != nullptr ? head_ids_[head] : head;
    return origin_ + ((b * dropout_.heads + whole_head) * dropout_.tokens + token) * S_;
  }
  // Bit j: whether element 4 * block + j is kept.
  __device__ unsigned kept_of_block(std::int64_t block) const {
    const auto number = static_cast<std::uint64_t>(block);
    const RandomBlock words =
        philox4x32_10({static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32),
                       static_cast<std::uint32_t>(step_), static_cast<std::uint32_t>(step_ >> 32)},
                      {static_cast<std::uint32_t>(key_), static_cast<std::uint32_t>(key_ >> 32)});
    unsigned bits = 0;
#pragma unroll
    for (unsigned j = 0; j < 4; ++j) bits |= static_cast<unsigned>(words[j] >> 8 >= dropout_.threshold) << j;
    return bits;
  }
  __device__ bool kept(std::int64_t element) const {
    return (kept_of_block(element / 4) >> (element % 4) & 1U) != 0;
  }
  __device__ float scale() const {
    return dropout_.scale;
  }

 private:
  const AttentionDropout dropout_;
  const std::int32_t* head_ids_;
  std::int64_t S_;
  std::uint64_t step_ = 0;
  std::uint64_t key_ = 0;
  std::int64_t origin_ = 0;
};

// Number of a query's token among those of all ranks, for dropout.
__device__ inline int dropout_token(const AttentionOperands& in, int token) {
  return in.query_positions != nullptr ? in.query_positions[token] : token;
}

}  // namespace nadi::cuda
