// CRC-32 as ZIP archives and gzip have it (polynomial 0x04c11db7, bits reflected, inverted before and after),
// and CRC-32C, the same with Castagnoli's polynomial 0x1edc6f41, as iSCSI and ext4 have it.
//
//   std::uint32_t sum = crc32(first);
//   sum = crc32(second, sum);                                        // of first and second
//   sum = crc32_of_both(crc32(first), crc32(second), second.size());  // the same, computed apart
//
// Parts that several threads write are summed where they are written and put together afterwards. Any change
// within 32 bits of each other, one flipped bit for instance, changes the sum.
//
// How fast depends on what the processor has: GB/s of bytes in the cache, CRC-32 and CRC-32C, on a Zen 5.
//
//   VPCLMULQDQ and AVX-512        72 and 72    512 bits folded at once by carry-less multiplication
//   VPCLMULQDQ and AVX2           36 and 36    256 bits
//   PCLMULQDQ and SSE4.2          18 and 34    128 bits, and the instruction for CRC-32C
//   neither                      2.8 and 2.8   tables
//
// The functions named _reference are the plain version, bit by bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace nadi::inline ground {

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);
std::uint32_t crc32_of_both(std::uint32_t first, std::uint32_t second, std::uint64_t second_size);

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);
std::uint32_t crc32c_of_both(std::uint32_t first, std::uint32_t second, std::uint64_t second_size);

std::uint32_t crc32_reference(std::span<const std::byte> bytes, std::uint32_t before = 0);
std::uint32_t crc32c_reference(std::span<const std::byte> bytes, std::uint32_t before = 0);

// The ways that this processor can go, the one that is taken first; for tests and measurements.
struct CrcWay {
  std::string_view name;
  std::uint32_t (*crc32)(std::span<const std::byte> bytes, std::uint32_t before);
  std::uint32_t (*crc32c)(std::span<const std::byte> bytes, std::uint32_t before);
};
std::span<const CrcWay> crc_ways();

}  // namespace nadi::inline ground
