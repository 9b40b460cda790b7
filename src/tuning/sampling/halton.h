// Halton's sequence, scrambled: points that fill the unit cube more evenly than random ones, in any order of
// asking.
//
//   scrambled_halton(seed, index, dimension)   // in [0, 1)
//
// Dimension d counts `index` in the d-th prime and mirrors the digits behind the point. Each digit goes
// through a permutation of its place, dimension and seed, which breaks the stripes that large primes make
// (random digit scrambling; Owen, "A randomized Halton algorithm", 2017). Digits go on to the resolution of a
// double, so that a point is anywhere in its cell.
#pragma once

#include <cstdint>

namespace nadi::inline tuning {

inline constexpr std::int64_t kHaltonDimensions = 200;

// `dimension` is below kHaltonDimensions.
double scrambled_halton(std::uint64_t seed, std::uint64_t index, std::int64_t dimension);

}  // namespace nadi::inline tuning
