// Four elements share a Philox block (base/random.h). Several blocks are computed side by side: one alone is
// a chain of ten rounds that each wait for the last.
#include "nadi/cpu/dropout_mask.h"

#include <algorithm>
#include <cmath>

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace nadi::inline engines::cpu {
namespace {

#ifdef __AVX2__

// Four blocks to a register, words in 64-bit lanes of which only the lower half counts: that is what the
// multiplication reads. Three registers of each word, with keys and multipliers, fill the sixteen there are.
constexpr int kRegisters = 3;
constexpr int kBlocks = 4 * kRegisters;

// Four words of each of kBlocks blocks from `first` on, in the order of the elements that use them.
void random_words(const RandomKey& random_key, std::uint64_t first, std::uint32_t* words) {
  const __m256i multiplier0 = _mm256_set1_epi64x(0xD2511F53), multiplier1 = _mm256_set1_epi64x(0xCD9E8D57);
  __m256i c0[kRegisters], c1[kRegisters], c2[kRegisters], c3[kRegisters];
  for (int r = 0; r < kRegisters; ++r) {
    c0[r] = _mm256_add_epi64(_mm256_set1_epi64x(static_cast<long long>(first) + 4 * r),
                             _mm256_set_epi64x(3, 2, 1, 0));
    c1[r] = _mm256_srli_epi64(c0[r], 32);
    c2[r] = _mm256_set1_epi64x(static_cast<long long>(random_key.step));
    c3[r] = _mm256_srli_epi64(c2[r], 32);
  }
  const std::uint64_t key = philox_key(random_key);
  auto key0 = static_cast<std::uint32_t>(key), key1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const __m256i round_key0 = _mm256_set1_epi64x(key0), round_key1 = _mm256_set1_epi64x(key1);
    for (int r = 0; r < kRegisters; ++r) {
      const __m256i product0 = _mm256_mul_epu32(c0[r], multiplier0);
      const __m256i product1 = _mm256_mul_epu32(c2[r], multiplier1);
      c0[r] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(product1, 32), c1[r]), round_key0);
      c2[r] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(product0, 32), c3[r]), round_key1);
      c1[r] = product1;
      c3[r] = product0;
    }
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  for (int r = 0; r < kRegisters; ++r) {
    // Words 0 and 1 of each block in one lane, 2 and 3 in another; then lanes of a block side by side.
    const __m256i low = _mm256_blend_epi32(c0[r], _mm256_slli_epi64(c1[r], 32), 0xaa);
    const __m256i high = _mm256_blend_epi32(c2[r], _mm256_slli_epi64(c3[r], 32), 0xaa);
    const __m256i even = _mm256_unpacklo_epi64(low, high), odd = _mm256_unpackhi_epi64(low, high);
    auto* to = reinterpret_cast<__m256i*>(words + 16 * r);
    _mm256_storeu_si256(to, _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(even, odd, 0x31));
  }
}

#else

constexpr int kBlocks = 8;

void random_words(const RandomKey& key, std::uint64_t first, std::uint32_t* words) {
  for (int i = 0; i < kBlocks; ++i)
    std::ranges::copy(random_block(key, first + static_cast<std::uint64_t>(i)), words + 4 * i);
}

#endif

}  // namespace

DropoutMask::DropoutMask(const DropoutArguments& arguments)
    : scale_(static_cast<float>(1 / (1 - arguments.rate))) {
  const auto* random = reinterpret_cast<const std::int64_t*>(arguments.random.data);
  key_ = {.seed = static_cast<std::uint64_t>(random[0]),
          .step = static_cast<std::uint64_t>(random[1]),
          .site = static_cast<std::uint64_t>(arguments.site)};
  origin_ = random[2] * arguments.elements_per_sample;
  // A uniform number is a word's upper 24 bits times 2^-24, so that comparing it with the rate is comparing
  // integers.
  threshold_ = static_cast<std::uint32_t>(std::ceil(arguments.rate * 0x1p24));
}

void DropoutMask::factors(std::int64_t first, std::int64_t count, float* factors) const {
  constexpr std::int64_t kWords = 4 * kBlocks;
  std::uint32_t words[kWords];
  const auto number = static_cast<std::uint64_t>(origin_ + first);
  std::uint64_t block = number / 4;
  auto skipped = static_cast<std::int64_t>(number % 4);
  const std::uint32_t threshold = threshold_;
  const float scale = scale_;
  for (std::int64_t done = 0; done < count; block += kBlocks, skipped = 0) {
    random_words(key_, block, words);
    const std::int64_t made = std::min(kWords - skipped, count - done);
#pragma omp simd
    for (std::int64_t i = 0; i < made; ++i)
      factors[done + i] = (words[skipped + i] >> 8) >= threshold ? scale : 0.0F;
    done += made;
  }
}

}  // namespace nadi::inline engines::cpu
