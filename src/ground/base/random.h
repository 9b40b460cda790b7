// Random numbers that are counted, not drawn: element `index` of a site has its number whoever asks for it,
// in whatever order. Initialisation, dropout, recomputation, resuming and any split over ranks or threads
// therefore give the same numbers.
//
//   const RandomKey key{.seed = 1, .step = step, .site = site_of("transformer.h.3.attn.dropout")};
//   const bool keep = random_uniform(key, element) >= rate;
//
// The generator is Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): a
// function from a 64-bit key and a 128-bit counter to four 32-bit words.
//
//   key     = mix(seed) xor site, low half first; mix is a bijection on 64 bits
//   counter = {block low, block high, step low, step high}
//
// So within one seed no two (step, site, block) share key and counter: 192 bits are kept whole. Two runs
// with different seeds meet only where mix(seed1) xor mix(seed2) = site1 xor site2, by chance 1 in 2^64.
//
// Which words element i uses; the functions read the same words, so a site should stick to one of them:
//   random_word, random_uniform   word i mod 4 of block i / 4
//   random_uniform_double         words 2j (the high half) and 2j+1 of block i / 2, where j = i mod 2
//   random_normal                 words 2j and 2j+1 of block i / 4, where j = (i mod 4) / 2: Box-Muller
//                                 makes two normals of them, the cosine for even i, the sine for odd i
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "nadi/base/hash.h"

namespace nadi::inline ground {

struct RandomKey {
  std::uint64_t seed = 0;  // of the run
  std::uint64_t step = 0;  // of training; 0 for initialisation
  std::uint64_t site = 0;  // what the numbers are for: site_of(its name)
};

using RandomBlock = std::array<std::uint32_t, 4>;

// FNV-1a with 64 bits.
constexpr std::uint64_t site_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : name) {
    hash ^= static_cast<unsigned char>(letter);
    hash *= 0x100000001b3;
  }
  return hash;
}

// The bare generator, as published.
constexpr RandomBlock philox4x32_10(RandomBlock counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += 0x9E3779B9;  // the golden ratio
    key[1] += 0xBB67AE85;  // sqrt(3) - 1
  }
  return counter;
}

// What the generator is keyed with. The constant is added so that seed 0 is mixed, too.
constexpr std::uint64_t philox_key(const RandomKey& key) {
  return mixed_bits(key.seed + kGoldenRatio64) ^ key.site;
}

// Four words at once, without state: what a kernel calls per four elements, in loops that vectorise.
constexpr RandomBlock random_block(const RandomKey& key, std::uint64_t block) {
  const std::uint64_t mixed = philox_key(key);
  return philox4x32_10({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                        static_cast<std::uint32_t>(key.step), static_cast<std::uint32_t>(key.step >> 32)},
                       {static_cast<std::uint32_t>(mixed), static_cast<std::uint32_t>(mixed >> 32)});
}

constexpr std::uint32_t random_word(const RandomKey& key, std::uint64_t index) {
  return random_block(key, index / 4)[index % 4];
}

// A word as a multiple of 2^-24 in [0, 1): its upper 24 bits, so that the result is exact.
constexpr float uniform_of_word(std::uint32_t word) {
  return static_cast<float>(word >> 8) * 0x1p-24F;
}

// In [0, 1).
constexpr float random_uniform(const RandomKey& key, std::uint64_t index) {
  return uniform_of_word(random_word(key, index));
}

// In [0, 1), a multiple of 2^-53.
double random_uniform_double(const RandomKey& key, std::uint64_t index);

// Standard normal: mean 0, variance 1, never beyond 6.7. Computed in double precision and rounded, so that
// two mathematics libraries differ at most in the last bit.
float random_normal(const RandomKey& key, std::uint64_t index);

// The four normals of block `block`: elements 4 * block to 4 * block + 3.
std::array<float, 4> random_normal_block(const RandomKey& key, std::uint64_t block);

// out[i] = random_normal(key, first_index + i), at a quarter of the generator calls.
void fill_normal(const RandomKey& key, std::uint64_t first_index, std::span<float> out);

}  // namespace nadi::inline ground
