#include "nadi/base/random.h"

#include <cmath>
#include <numbers>

namespace nadi::inline ground {
namespace {

struct NormalPair {
  float even;
  float odd;
};

// Box-Muller: for u in (0, 1] and v in [0, 1), sqrt(-2 ln u) cos(2 pi v) and the same with the sine are two
// independent normals. u has 32 bits, so the largest is sqrt(-2 ln 2^-32) = 6.66.
NormalPair box_muller(std::uint32_t radius_word, std::uint32_t angle_word) {
  const double u = (static_cast<double>(radius_word) + 1.0) * 0x1p-32;
  const double v = static_cast<double>(angle_word) * 0x1p-32;
  const double radius = std::sqrt(-2.0 * std::log(u));
  const double angle = 2.0 * std::numbers::pi * v;
  return {static_cast<float>(radius * std::cos(angle)), static_cast<float>(radius * std::sin(angle))};
}

// Elements first_index to first_index + out.size() of blocks that `make` computes four at a time. The first
// and the last block may be used in part.
template <typename MakeBlock>
void fill_blocks(std::uint64_t first_index, std::span<float> out, MakeBlock make) {
  std::size_t done = 0;
  while (done < out.size()) {
    const std::uint64_t index = first_index + done;
    const std::array<float, 4> values = make(index / 4);
    for (std::uint64_t lane = index % 4; lane < 4 && done < out.size(); ++lane) out[done++] = values[lane];
  }
}

}  // namespace

double random_uniform_double(const RandomKey& key, std::uint64_t index) {
  const RandomBlock words = random_block(key, index / 2);
  const std::size_t first = index % 2 * 2;
  const std::uint64_t bits = (std::uint64_t{words[first]} << 32) | words[first + 1];
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

float random_normal(const RandomKey& key, std::uint64_t index) {
  const RandomBlock words = random_block(key, index / 4);
  const std::size_t first = index % 4 / 2 * 2;
  const NormalPair pair = box_muller(words[first], words[first + 1]);
  return index % 2 == 0 ? pair.even : pair.odd;
}

std::array<float, 4> random_normal_block(const RandomKey& key, std::uint64_t block) {
  const RandomBlock words = random_block(key, block);
  const NormalPair low = box_muller(words[0], words[1]);
  const NormalPair high = box_muller(words[2], words[3]);
  return {low.even, low.odd, high.even, high.odd};
}

void fill_normal(const RandomKey& key, std::uint64_t first_index, std::span<float> out) {
  fill_blocks(first_index, out, [&](std::uint64_t block) { return random_normal_block(key, block); });
}

}  // namespace nadi::inline ground
