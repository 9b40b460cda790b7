// What kind of work an op does, or a kernel of any program: analysis/kind_patterns.h tells it by names.
#pragma once

#include <cstdint>

namespace nadi::inline describe {

enum class WorkKind : std::uint8_t {
  kMatrixProduct,
  kAttention,
  kConvolution,
  kNorm,
  kSoftmax,
  kElementwise,
  kReduction,
  kIndexing,
  kOptimizer,
  kCommunication,
  kCopy,
  kOther,
};

}  // namespace nadi::inline describe
