// A CRC is the remainder of a polynomial over GF(2) divided by P. Reflected: the lowest bit of a word is the
// coefficient of its highest power. Folding replaces 128 bits in front of n others by their product with x^n
// mod P, which has the same remainder; that product is two carry-less multiplications of 64 bits by 32.
#include "nadi/base/crc32.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nadi {
namespace {

constexpr std::uint32_t kPolynomial = 0xedb88320;  // reflected, without x^32

constexpr std::uint32_t times_x(std::uint32_t value) {
  return (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
}

// a * b mod P; both reflected, so that 1 is the highest bit.
constexpr std::uint32_t times(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = std::uint32_t{1} << 31; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    b = times_x(b);
  }
  return product;
}

constexpr std::uint32_t power_of_x(std::uint64_t exponent) {
  std::uint32_t result = std::uint32_t{1} << 31;
  for (std::uint32_t square = std::uint32_t{1} << 30; exponent != 0;
       exponent >>= 1, square = times(square, square))
    if ((exponent & 1) != 0) result = times(result, square);
  return result;
}

// tables[k][b]: the remainder of byte b with k zero bytes after it. Eight bytes are summed at once.
constexpr auto kTables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = times_x(value);
    tables[0][byte] = value;
  }
  for (std::size_t table = 1; table < tables.size(); ++table)
    for (std::size_t byte = 0; byte < 256; ++byte)
      tables[table][byte] = (tables[table - 1][byte] >> 8) ^ tables[0][tables[table - 1][byte] & 0xff];
  return tables;
}();

// The register as it is, without the inversions.
std::uint32_t sum_by_tables(const std::byte* bytes, std::size_t size, std::uint32_t state) {
  for (; size >= 8; bytes += 8, size -= 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof(word));
    word ^= state;
    state = 0;
    for (std::size_t byte = 0; byte < 8; ++byte) state ^= kTables[7 - byte][(word >> (8 * byte)) & 0xff];
  }
  for (; size > 0; ++bytes, --size)
    state = (state >> 8) ^ kTables[0][(state ^ std::to_integer<std::uint32_t>(*bytes)) & 0xff];
  return state;
}

#if defined(__x86_64__)

// What 128 bits are multiplied with to stand `bits` further ahead: the two 64-bit halves are 64 bits apart,
// and the product of reflected numbers is one bit short.
constexpr std::uint64_t fold_factor(std::uint64_t bits) {
  return static_cast<std::uint64_t>(power_of_x(bits)) << 1;
}

__attribute__((target("pclmul,sse4.1"))) __m128i folded(__m128i ahead, __m128i factors, __m128i next) {
  return _mm_xor_si128(
      _mm_xor_si128(_mm_clmulepi64_si128(ahead, factors, 0x00), _mm_clmulepi64_si128(ahead, factors, 0x11)),
      next);
}

__attribute__((target("pclmul,sse4.1"))) __m128i loaded(const std::byte* bytes) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
}

// At least 64 bytes.
__attribute__((target("pclmul,sse4.1"))) std::uint32_t sum_by_folding(const std::byte* bytes,
                                                                      std::size_t size, std::uint32_t state) {
  constexpr std::size_t kStep = 64;
  const __m128i far = _mm_set_epi64x(static_cast<long long>(fold_factor(512 - 32)),
                                     static_cast<long long>(fold_factor(512 + 32)));
  const __m128i near = _mm_set_epi64x(static_cast<long long>(fold_factor(128 - 32)),
                                      static_cast<long long>(fold_factor(128 + 32)));
  __m128i a = _mm_xor_si128(loaded(bytes), _mm_cvtsi32_si128(static_cast<int>(state)));
  __m128i b = loaded(bytes + 16);
  __m128i c = loaded(bytes + 32);
  __m128i d = loaded(bytes + 48);
  bytes += kStep;
  size -= kStep;
  for (; size >= kStep; bytes += kStep, size -= kStep) {
    a = folded(a, far, loaded(bytes));
    b = folded(b, far, loaded(bytes + 16));
    c = folded(c, far, loaded(bytes + 32));
    d = folded(d, far, loaded(bytes + 48));
  }
  a = folded(folded(folded(a, near, b), near, c), near, d);
  for (; size >= 16; bytes += 16, size -= 16) a = folded(a, near, loaded(bytes));
  std::array<std::byte, 16> rest;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(rest.data()), a);
  return sum_by_tables(bytes, size, sum_by_tables(rest.data(), rest.size(), 0));
}

bool can_fold() {
  static const bool can = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  return can;
}

#endif

}  // namespace

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) {
#if defined(__x86_64__)
  if (bytes.size() >= 64 && can_fold()) return ~sum_by_folding(bytes.data(), bytes.size(), ~before);
#endif
  return crc32_by_tables(bytes, before);
}

std::uint32_t crc32_of_both(std::uint32_t first, std::uint32_t second, std::uint64_t second_size) {
  return times(power_of_x(8 * second_size), first) ^ second;
}

std::uint32_t crc32_by_tables(std::span<const std::byte> bytes, std::uint32_t before) {
  return ~sum_by_tables(bytes.data(), bytes.size(), ~before);
}

std::uint32_t crc32_reference(std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint32_t state = ~before;
  for (const std::byte byte : bytes) {
    state ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) state = times_x(state);
  }
  return ~state;
}

}  // namespace nadi
