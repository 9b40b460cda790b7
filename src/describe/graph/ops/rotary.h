// Rotary position embedding on [B, T, H*D]: within each head, elements i and i + D/2 are turned by the angle
// position * frequency(i). Position of token t in sequence b: positions[b] + t, or t without `positions`;
// token_positions[t] where the tokens are only some of the sequence's.
#pragma once

#include <span>
#include <vector>

#include "nadi/graph/builder.h"

namespace nadi::inline describe {

// frequency(i) = theta^(-2i/D), stretched as Llama 3.1 does for contexts longer than it was first trained on:
// wavelengths over original_positions / low_frequency_factor are slowed down by `factor`, those under
// original_positions / high_frequency_factor stay, and in between the two are blended. original_positions = 0
// means no stretching.
struct RotaryFrequencies {
  double theta = 10000;
  double factor = 1;
  double low_frequency_factor = 1;
  double high_frequency_factor = 1;
  std::int64_t original_positions = 0;

  std::vector<double> values(std::int64_t head_width) const;  // D/2 of them
  void write(std::span<double> values) const;                 // the same, without allocating
  bool operator==(const RotaryFrequencies&) const = default;
};

struct RotaryArgs {
  TensorId x = kNoTensor;
  TensorId positions = kNoTensor;        // i32 [B]
  TensorId token_positions = kNoTensor;  // i32 [T]
  std::int64_t heads = 1;
  RotaryFrequencies frequencies = {};
};
TensorId rotary(GraphBuilder& builder, const RotaryArgs& args);

// The frequencies of an op of this kind, for kernels.
RotaryFrequencies rotary_frequencies(const Attributes& attributes);

}  // namespace nadi::inline describe
