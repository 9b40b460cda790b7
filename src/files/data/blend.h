// Mixes samples of several datasets by weight, as Megatron does: at each step the next sample comes from the
// dataset that lags furthest behind its share, the first of those that lag equally.
//
//   const Blend blend = blend_samples({{0.3, 0.7}}, 1000);
//   blend.dataset[i], blend.sample[i]         // sample i of the mixture
//
// So the shares hold in any run of samples, not only in the end. Each dataset's samples come in their order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nadi::inline files {

struct Blend {
  std::vector<std::uint16_t> dataset;
  std::vector<std::int64_t> sample;
};

// Weights are positive and need not add up to 1. At most 65,536 of them.
Blend blend_samples(std::span<const double> weights, std::int64_t samples);

// How many samples a dataset of that share, from 0 to 1, is asked for: half a percent more than its share, so
// that it never runs out.
std::int64_t blend_samples_wanted(double share, std::int64_t samples);

}  // namespace nadi::inline files
