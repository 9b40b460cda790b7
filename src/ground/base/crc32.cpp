// Both sums are remainders of a polynomial over GF(2) divided by a polynomial P of degree 32, and differ in P
// alone; everything here is written for any P. Reflected: the lowest bit of a word is the
// coefficient of its highest power. Folding replaces 128 bits in front of n others by their product with x^n
// mod P, which has the same remainder; that product is two carry-less multiplications of 64 bits by 32.
// Processors with SSE4.2 have an instruction for Castagnoli's P, of which three at a time hide its latency.
#include "nadi/base/crc32.h"

#include <array>
#include <cstring>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nadi::inline ground {
namespace {

// Reflected, without x^32.
using Polynomial = std::uint32_t;
constexpr Polynomial kZip = 0xedb88320;
constexpr Polynomial kCastagnoli = 0x82f63b78;

template <Polynomial P>
constexpr std::uint32_t times_x(std::uint32_t value) {
  return (value >> 1) ^ ((value & 1) != 0 ? P : 0);
}

// a * b mod P; both reflected, so that 1 is the highest bit.
template <Polynomial P>
constexpr std::uint32_t times(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = std::uint32_t{1} << 31; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    b = times_x<P>(b);
  }
  return product;
}

template <Polynomial P>
constexpr std::uint32_t power_of_x(std::uint64_t exponent) {
  std::uint32_t result = std::uint32_t{1} << 31;
  for (std::uint32_t square = std::uint32_t{1} << 30; exponent != 0;
       exponent >>= 1, square = times<P>(square, square))
    if ((exponent & 1) != 0) result = times<P>(result, square);
  return result;
}

// tables[k][b]: the remainder of byte b with k zero bytes after it. Eight bytes are summed at once.
template <Polynomial P>
constexpr auto kTables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = times_x<P>(value);
    tables[0][byte] = value;
  }
  for (std::size_t table = 1; table < tables.size(); ++table)
    for (std::size_t byte = 0; byte < 256; ++byte)
      tables[table][byte] = (tables[table - 1][byte] >> 8) ^ tables[0][tables[table - 1][byte] & 0xff];
  return tables;
}();

// The register as it is, without the inversions.
template <Polynomial P>
std::uint32_t sum_by_tables(const std::byte* bytes, std::size_t size, std::uint32_t state) {
  for (; size >= 8; bytes += 8, size -= 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof(word));
    word ^= state;
    state = 0;
    for (std::size_t byte = 0; byte < 8; ++byte) state ^= kTables<P>[7 - byte][(word >> (8 * byte)) & 0xff];
  }
  for (; size > 0; ++bytes, --size)
    state = (state >> 8) ^ kTables<P>[0][(state ^ std::to_integer<std::uint32_t>(*bytes)) & 0xff];
  return state;
}

#if defined(__x86_64__)

// What 128 bits are multiplied with to stand `bits` further ahead: the two 64-bit halves are 64 bits apart,
// and the product of reflected numbers is one bit short.
template <Polynomial P>
constexpr long long fold_factor(std::uint64_t bits) {
  return static_cast<long long>(static_cast<std::uint64_t>(power_of_x<P>(bits)) << 1);
}

// For both halves.
template <Polynomial P, std::uint64_t kBits>
__m128i fold_factors() {
  constexpr long long kHigh = fold_factor<P>(kBits - 32), kLow = fold_factor<P>(kBits + 32);
  return _mm_set_epi64x(kHigh, kLow);
}

__attribute__((target("pclmul,sse4.1"))) __m128i folded(__m128i ahead, __m128i factors, __m128i next) {
  return _mm_xor_si128(
      _mm_xor_si128(_mm_clmulepi64_si128(ahead, factors, 0x00), _mm_clmulepi64_si128(ahead, factors, 0x11)),
      next);
}

// Asks for the bytes that are summed some thousand bytes later. Sums are mostly of bytes that come from memory,
// mapped files above all. Where a step takes few bytes the processor's own guess of what comes next is late: the
// instruction for CRC-32C costs 14% of the time of a copy without this, 1% with it (Zen 5); wide folding 1 to 3%
// either way. Behind the end of a mapping it is without effect.
constexpr std::size_t kCacheLine = 64, kAhead = 6144;
template <std::size_t kBytes>
void fetch_ahead(const std::byte* bytes) {
  for (std::size_t line = 0; line < kBytes; line += kCacheLine) __builtin_prefetch(bytes + kAhead + line);
}

__attribute__((target("pclmul,sse4.1"))) __m128i loaded(const std::byte* bytes) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
}

// 128 bits that stand for all before them, and the bytes behind these.
template <Polynomial P>
__attribute__((target("pclmul,sse4.1"))) std::uint32_t sum_of_rest(__m128i ahead, const std::byte* bytes,
                                                                   std::size_t size) {
  const __m128i near = fold_factors<P, 128>();
  for (; size >= 16; bytes += 16, size -= 16) ahead = folded(ahead, near, loaded(bytes));
  std::array<std::byte, 16> rest;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(rest.data()), ahead);
  return sum_by_tables<P>(bytes, size, sum_by_tables<P>(rest.data(), rest.size(), 0));
}

template <Polynomial P>
__attribute__((target("pclmul,sse4.1"))) std::uint32_t sum_by_folding(const std::byte* bytes,
                                                                      std::size_t size, std::uint32_t state) {
  constexpr std::size_t kStep = 64;
  if (size < kStep) return sum_by_tables<P>(bytes, size, state);
  const __m128i far = fold_factors<P, 512>(), near = fold_factors<P, 128>();
  __m128i a = _mm_xor_si128(loaded(bytes), _mm_cvtsi32_si128(static_cast<int>(state)));
  __m128i b = loaded(bytes + 16);
  __m128i c = loaded(bytes + 32);
  __m128i d = loaded(bytes + 48);
  bytes += kStep;
  size -= kStep;
  for (; size >= kStep; bytes += kStep, size -= kStep) {
    fetch_ahead<kStep>(bytes);
    a = folded(a, far, loaded(bytes));
    b = folded(b, far, loaded(bytes + 16));
    c = folded(c, far, loaded(bytes + 32));
    d = folded(d, far, loaded(bytes + 48));
  }
  a = folded(folded(folded(a, near, b), near, c), near, d);
  return sum_of_rest<P>(a, bytes, size);
}

// What a step of 256 or 512 bits in a register takes at once. Upper halves are cleared at the end: while they
// hold something, all code with registers of 128 bits is slower, this one by two fifths on a Zen 5, and
// compilers do not clear them by themselves in functions that have a target of their own.
constexpr std::size_t kWideStep = 256;

// 128 bits that stand for several, one behind the other.
template <Polynomial P>
__attribute__((target("pclmul,sse4.1"))) __m128i in_one(std::span<const std::byte> parts) {
  const __m128i step = fold_factors<P, 128>();
  __m128i sum = loaded(parts.data());
  for (std::size_t part = 16; part < parts.size(); part += 16)
    sum = folded(sum, step, loaded(parts.data() + part));
  return sum;
}

#define NADI_TWICE __attribute__((target("vpclmulqdq,avx2,pclmul,sse4.1")))

NADI_TWICE void fold_twice(__m256i& ahead, __m256i factors, const std::byte* next) {
  ahead = _mm256_xor_si256(_mm256_xor_si256(_mm256_clmulepi64_epi128(ahead, factors, 0x00),
                                            _mm256_clmulepi64_epi128(ahead, factors, 0x11)),
                           _mm256_loadu_si256(reinterpret_cast<const __m256i*>(next)));
}

// The same with twice as many bits in a register.
template <Polynomial P>
NADI_TWICE std::uint32_t sum_by_folding_twice(const std::byte* bytes, std::size_t size, std::uint32_t state) {
  constexpr std::size_t kRegisters = 8, kBytes = kWideStep / kRegisters;
  if (size < kWideStep) return sum_by_folding<P>(bytes, size, state);
  const __m256i far = _mm256_broadcastsi128_si256(fold_factors<P, 8 * kWideStep>());
  __m256i ahead[kRegisters];
  for (std::size_t i = 0; i < kRegisters; ++i)
    ahead[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + kBytes * i));
  ahead[0] = _mm256_xor_si256(ahead[0], _mm256_zextsi128_si256(_mm_cvtsi32_si128(static_cast<int>(state))));
  bytes += kWideStep;
  size -= kWideStep;
  for (; size >= kWideStep; bytes += kWideStep, size -= kWideStep)
    for (std::size_t i = 0; i < kRegisters; ++i) fold_twice(ahead[i], far, bytes + kBytes * i);
  std::array<std::byte, kWideStep> parts;
  for (std::size_t i = 0; i < kRegisters; ++i)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(parts.data() + kBytes * i), ahead[i]);
  _mm256_zeroupper();
  return sum_of_rest<P>(in_one<P>(parts), bytes, size);
}

#undef NADI_TWICE

#define NADI_WIDE __attribute__((target("vpclmulqdq,avx512f,pclmul,sse4.1")))

NADI_WIDE __m512i wide_folded(__m512i ahead, __m512i factors, __m512i next) {
  constexpr int kXorOfThree = 0x96;
  return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(ahead, factors, 0x00),
                                   _mm512_clmulepi64_epi128(ahead, factors, 0x11), next, kXorOfThree);
}

template <Polynomial P, std::uint64_t kBits>
NADI_WIDE __m512i wide_fold_factors() {
  constexpr long long kHigh = fold_factor<P>(kBits - 32), kLow = fold_factor<P>(kBits + 32);
  return _mm512_set4_epi64(kHigh, kLow, kHigh, kLow);
}

NADI_WIDE __m512i wide_loaded(const std::byte* bytes) {
  return _mm512_loadu_si512(bytes);
}

// The same with four times as many bits in a register.
template <Polynomial P>
NADI_WIDE std::uint32_t sum_by_wide_folding(const std::byte* bytes, std::size_t size, std::uint32_t state) {
  if (size < kWideStep) return sum_by_folding<P>(bytes, size, state);
  const __m512i far = wide_fold_factors<P, 2048>(), near = wide_fold_factors<P, 512>();
  __m512i a = _mm512_xor_si512(wide_loaded(bytes),
                               _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(state))));
  __m512i b = wide_loaded(bytes + 64);
  __m512i c = wide_loaded(bytes + 128);
  __m512i d = wide_loaded(bytes + 192);
  bytes += kWideStep;
  size -= kWideStep;
  for (; size >= kWideStep; bytes += kWideStep, size -= kWideStep) {
    a = wide_folded(a, far, wide_loaded(bytes));
    b = wide_folded(b, far, wide_loaded(bytes + 64));
    c = wide_folded(c, far, wide_loaded(bytes + 128));
    d = wide_folded(d, far, wide_loaded(bytes + 192));
  }
  a = wide_folded(wide_folded(wide_folded(a, near, b), near, c), near, d);
  std::array<std::byte, 64> parts;
  _mm512_storeu_si512(parts.data(), a);
  _mm256_zeroupper();
  return sum_of_rest<P>(in_one<P>(parts), bytes, size);
}

#undef NADI_WIDE

#define NADI_INSTRUCTION __attribute__((target("sse4.2,pclmul")))

// The state with so many zero bytes behind it, which are in the factor: the product of reflected numbers is
// one bit short, and the instruction multiplies by x^32.
constexpr std::uint32_t behind_factor(std::size_t zeros) {
  return power_of_x<kCastagnoli>(8 * zeros - 33);
}
NADI_INSTRUCTION std::uint32_t with_zeros(std::uint64_t state, std::uint32_t factor) {
  const __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(state)),
                                               _mm_cvtsi64_si128(static_cast<long long>(factor)), 0);
  return static_cast<std::uint32_t>(_mm_crc32_u64(0, static_cast<std::uint64_t>(_mm_cvtsi128_si64(product))));
}

NADI_INSTRUCTION void sum_word(std::uint64_t& state, const std::byte* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof(word));
  state = _mm_crc32_u64(state, word);
}

// Three runs of bytes side by side, each in a register, then put together.
NADI_INSTRUCTION std::uint32_t sum_by_instruction(const std::byte* bytes, std::size_t size,
                                                  std::uint32_t state) {
  constexpr std::size_t kRun = 1024;
  constexpr std::uint32_t kOne = behind_factor(kRun), kTwo = behind_factor(2 * kRun);
  for (; size >= 3 * kRun; bytes += 3 * kRun, size -= 3 * kRun) {
    std::uint64_t a = state, b = 0, c = 0;
    for (std::size_t line = 0; line < kRun; line += kCacheLine) {
      for (std::size_t run = 0; run < 3; ++run) fetch_ahead<kCacheLine>(bytes + run * kRun + line);
      for (std::size_t at = line; at < line + kCacheLine; at += sizeof(std::uint64_t)) {
        sum_word(a, bytes + at);
        sum_word(b, bytes + kRun + at);
        sum_word(c, bytes + 2 * kRun + at);
      }
    }
    state = with_zeros(a, kTwo) ^ with_zeros(b, kOne) ^ static_cast<std::uint32_t>(c);
  }
  return sum_by_folding<kCastagnoli>(bytes, size, state);
}

#undef NADI_INSTRUCTION

#endif

using Sum = std::uint32_t(const std::byte* bytes, std::size_t size, std::uint32_t state);
template <Sum kSum>
std::uint32_t inverted(std::span<const std::byte> bytes, std::uint32_t before) {
  return ~kSum(bytes.data(), bytes.size(), ~before);
}

std::vector<CrcWay> ways_of_this_processor() {
  std::vector<CrcWay> ways;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1")) {
    const bool twice = __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx2");
    if (twice && __builtin_cpu_supports("avx512f"))
      ways.push_back({"folding 512 bits", inverted<sum_by_wide_folding<kZip>>,
                      inverted<sum_by_wide_folding<kCastagnoli>>});
    if (twice)
      ways.push_back({"folding 256 bits", inverted<sum_by_folding_twice<kZip>>,
                      inverted<sum_by_folding_twice<kCastagnoli>>});
    if (__builtin_cpu_supports("sse4.2"))
      ways.push_back(
          {"folding 128 bits, instruction", inverted<sum_by_folding<kZip>>, inverted<sum_by_instruction>});
    ways.push_back(
        {"folding 128 bits", inverted<sum_by_folding<kZip>>, inverted<sum_by_folding<kCastagnoli>>});
  }
#endif
  ways.push_back({"tables", inverted<sum_by_tables<kZip>>, inverted<sum_by_tables<kCastagnoli>>});
  return ways;
}

template <Polynomial P>
std::uint32_t sum_bit_by_bit(std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint32_t state = ~before;
  for (const std::byte byte : bytes) {
    state ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) state = times_x<P>(state);
  }
  return ~state;
}

}  // namespace

std::span<const CrcWay> crc_ways() {
  static const std::vector<CrcWay> ways = ways_of_this_processor();
  return ways;
}

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) {
  return crc_ways().front().crc32(bytes, before);
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
  return crc_ways().front().crc32c(bytes, before);
}

std::uint32_t crc32_of_both(std::uint32_t first, std::uint32_t second, std::uint64_t second_size) {
  return times<kZip>(power_of_x<kZip>(8 * second_size), first) ^ second;
}

std::uint32_t crc32c_of_both(std::uint32_t first, std::uint32_t second, std::uint64_t second_size) {
  return times<kCastagnoli>(power_of_x<kCastagnoli>(8 * second_size), first) ^ second;
}

std::uint32_t crc32_reference(std::span<const std::byte> bytes, std::uint32_t before) {
  return sum_bit_by_bit<kZip>(bytes, before);
}

std::uint32_t crc32c_reference(std::span<const std::byte> bytes, std::uint32_t before) {
  return sum_bit_by_bit<kCastagnoli>(bytes, before);
}

}  // namespace nadi::inline ground
