// Elementary functions that compilers vectorise: no branches, no tables, no calls. Errors are a few units in
// the last place over the ranges that kernels use them on; vector_math_test measures them against double
// precision.
#pragma once

#include <bit>
#include <cstdint>

namespace nadi::inline engines::cpu {

// e^x; 0 below about -87.3, largest finite number above 88.3 (never infinity), NaN for NaN.
inline float fast_exp(float x) {
  constexpr float kLog2E = 1.44269504088896341F;
  // ln 2 in two parts, so that n * high is exact.
  constexpr float kLn2High = 0.693359375F;
  constexpr float kLn2Low = -2.12194440e-4F;
  const bool underflow = x < -87.3365447F;
  const float clamped = x > 88.3762589F ? 88.3762589F : x;  // keeps NaN
  // Rounds to the nearest integer without a call: adding 1.5 * 2^23 leaves no bits for a fraction.
  constexpr float kRound = 12582912.0F;
  const float shifted = clamped * kLog2E + kRound;
  const float n = shifted - kRound;
  float r = clamped - n * kLn2High;
  r -= n * kLn2Low;
  // Minimax polynomial of e^r on [-ln2/2, ln2/2].
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  const std::uint32_t exponent = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(kRound);
  const float scale = std::bit_cast<float>((exponent + 127U) << 23);
  const float result = p * scale;
  return underflow ? 0.0F : result;
}

// s = 1 / (1 + e^-x) and 1 - s, which has no rounding error of s in it.
struct Sigmoid {
  float value;
  float complement;
};
inline Sigmoid sigmoid(float x) {
  const float e = fast_exp(-x);
  const float s = 1.0F / (1.0F + e);
  return {s, e * s};
}

// The standard normal distribution at x: what of it lies below x, (1 + erf(x / sqrt 2)) / 2, and its density.
struct Normal {
  float below;
  float density;
};
inline Normal standard_normal(float x) {
  constexpr float kPeak = 0.398942280401432678F;  // 1 / sqrt(2 pi)
  constexpr float kFar = 14;                      // where the density is 0 in fp32
  const float magnitude = x < 0.0F ? -x : x;
  const float distance = magnitude > kFar ? kFar : magnitude;  // keeps NaN
  const float e = fast_exp(-0.5F * distance * distance);
  // What lies beyond `distance` is e * q(w) with w = 1 - 1 / (1 + 0.36 distance), which is in [0, 1). The
  // polynomial q was found with the Remez algorithm for distances up to kFar; its relative error is 6.5e-8.
  // In powers of w, small distances have small terms besides the first and keep their digits.
  const float w = 0.36F * distance / (1.0F + 0.36F * distance);
  float q = 0.0296531075007F;
  q = q * w - 0.130439886482F;
  q = q * w + 0.192866268237F;
  q = q * w - 0.0893038277962F;
  q = q * w + 0.0486288141022F;
  q = q * w - 0.165833937134F;
  q = q * w - 0.098056494643F;
  q = q * w + 0.820653054657F;
  q = q * w - 1.10816706595F;
  q = q * w + 0.499999967508F;
  const float beyond = e * q;
  return {x < 0.0F ? beyond : 1.0F - beyond, kPeak * e};
}

}  // namespace nadi::inline engines::cpu
