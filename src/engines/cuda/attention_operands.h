// Where the operands of an attention op are in memory, whether queries, keys and values come packed in one
// tensor, as views of one, or apart; and which keys a query sees. Letters as in graph/ops/attention.h.
//
//   const AttentionOperands in = attention_operands(call.op());
//   kernel<<<...>>>(in);                        // these structs are given to kernels by value
//
// Query i of sequence b sees the keys whose position is below a limit: attention_limit() of
// attention_device.cuh. Everything about positions is read on the device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nadi/cuda/kernel.h"
#include "nadi/graph/ops/attention.h"

namespace nadi::inline engines::cuda {

// The heads of a tensor [B, tokens, heads * D]: element d of head h of token t of sequence b is at
//   data + b * batch_stride + t * token_stride + h * head_stride + d * element_stride     (in elements)
struct HeadRows {
  std::byte* data = nullptr;  // of the first head
  DType dtype = DType::kF32;
  std::int64_t batch_stride = 0;
  std::int64_t token_stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t element_stride = 1;

  // Whether rows of D elements can be loaded and stored 16 bytes at a time.
  bool aligned(std::int64_t D) const;
};

// What dropout needs to number the probabilities: as elements of [B, heads, tokens, S].
struct AttentionDropout {
  const std::int64_t* random = nullptr;  // i64 [3]; nullptr means nothing is dropped
  std::int64_t site = 0;
  std::int64_t heads = 0;       // of all ranks
  std::int64_t tokens = 0;      // of all ranks
  std::uint32_t threshold = 0;  // least upper 24 bits of a word that keep an element; below 2^24
  float scale = 1;              // what elements that are kept are multiplied by
};

struct AttentionOperands {
  AttentionExtents extents = {};
  std::int64_t group = 1;  // queries' heads per key-value head
  float scale = 1;         // of the scores
  bool causal = false;
  HeadRows q = {}, k = {}, v = {};
  // i32, nullptr where absent.
  const std::int32_t* positions = nullptr;        // [B]
  const std::int32_t* lengths = nullptr;          // [B]
  const std::int32_t* query_positions = nullptr;  // [T]
  const std::int32_t* key_positions = nullptr;    // [S]
  const std::int32_t* head_ids = nullptr;         // [H]
  AttentionDropout dropout = {};

  constexpr bool drops() const { return dropout.random != nullptr; }
};
AttentionOperands attention_operands(const OpCall& call);

struct AttentionForward {
  AttentionOperands in = {};
  HeadRows y = {};
  float* statistics = nullptr;  // [B, H, T]; nullptr means not wanted
};
AttentionForward attention_forward_operands(const OpCall& call);

struct AttentionGradient {
  AttentionOperands in = {};
  HeadRows y = {}, dy = {};
  const float* statistics = nullptr;  // [B, H, T]
  HeadRows dq = {}, dk = {}, dv = {};
  // Whether they are added to what is there.
  bool add_dq = false;
  bool add_dk = false;
  bool add_dv = false;
};
AttentionGradient attention_gradient_operands(const OpCall& call);

}  // namespace nadi::inline engines::cuda
