// The parts of the workspace of attention's gradient by the own kernels. Known without CUDA.
#pragma once

#include <cstdint>

#include "nadi/base/round_up.h"
#include "nadi/cuda/device_traits.h"
#include "nadi/graph/op_definition.h"
#include "nadi/graph/ops/attention.h"

namespace nadi::inline engines::cuda {

// Which probabilities dropout keeps, one bit each, for the second of two kernels: random numbers are what
// takes the time with dropout. By query head, 32 queries and 16 keys, 16 bits for every thread of a warp.
struct KeptBits {
  static constexpr std::int64_t kQueries = 32;
  static constexpr std::int64_t kKeys = 16;
  static constexpr std::int64_t kThreads = 32;
  static std::int64_t bytes(const AttentionExtents& e) {
    return e.B * e.H * ((e.T + kQueries - 1) / kQueries) * ((e.S + kKeys - 1) / kKeys) * kThreads *
           static_cast<std::int64_t>(sizeof(std::uint16_t));
  }
};

struct AttentionScratch {
  explicit AttentionScratch(const OpView& op) {
    const AttentionExtents e = attention_extents(op);
    sums = rounded_up(e.B * e.H * e.T * static_cast<std::int64_t>(sizeof(float)), kDeviceAlignment);
    const DType dtype = op.input(attention_input::kQ).dtype;
    const bool drops = op.attributes().real("dropout") > 0;
    if (drops && (dtype == DType::kBF16 || dtype == DType::kF16)) kept = KeptBits::bytes(e);
  }
  std::int64_t sums = 0;  // of y * dy per query, fp32 [B, H, T]
  std::int64_t kept = 0;  // KeptBits
  std::int64_t bytes() const { return sums + kept; }
};

}  // namespace nadi::inline engines::cuda
