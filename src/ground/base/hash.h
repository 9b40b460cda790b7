// Hashes of numbers, for tables that are only looked up: no output depends on them.
//
//   std::uint64_t hash = 0;
//   for (const std::int64_t number : key) hash = hash_with(hash, static_cast<std::uint64_t>(number));
//
// Texts that must hash alike in every run and on every machine have site_of() (random.h) and sha256.h.
#pragma once

#include <cstdint>

namespace nadi::inline ground {

// 2^64 divided by the golden ratio: multiplying by it spreads neighbours far apart, best in the upper bits (Fibonacci
// hashing).
inline constexpr std::uint64_t kGoldenRatio64 = 0x9E3779B97F4A7C15;

// A hash that has one more number in it. The order of numbers counts.
constexpr std::uint64_t hash_with(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * kGoldenRatio64;
  return hash ^ hash >> 29;
}

// The finaliser of SplitMix64: a permutation of all numbers in which every bit depends on every other. 0 stays 0.
constexpr std::uint64_t mixed_bits(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

}  // namespace nadi::inline ground
