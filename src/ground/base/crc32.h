// CRC-32 as ZIP archives and gzip have it (polynomial 0x04c11db7, bits reflected, inverted before and after),
// and CRC-32C, the same with Castagnoli's polynomial 0x1edc6f41, as iSCSI and ext4 have it.
//
//   std::uint32_t sum = crc32(first);
//   sum = crc32(second, sum);                                      // of first and second, one after the
//   other sum = crc32_of_both(crc32(first), crc32(second), second.size());          // the same, computed
//   apart
//
// Parts that several threads write are summed where they are written and put together afterwards. Any change
// within 32 bits of each other, one flipped bit for instance, changes the sum.
//
// Folds with the carry-less multiplication of x86 processors, 256 bytes at a time where they have VPCLMULQDQ
// and AVX-512 (53 GB/s of bytes in the cache, measured on a Zen 4), 64 where they have PCLMULQDQ (8 GB/s),
// and goes by tables on others (1.6 GB/s). The functions named _reference are the plain version, bit by bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace nadi::inline ground {

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);
std::uint32_t crc32_of_both(std::uint32_t first, std::uint32_t second, std::uint64_t second_size);

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);
std::uint32_t crc32c_of_both(std::uint32_t first, std::uint32_t second, std::uint64_t second_size);

std::uint32_t crc32_reference(std::span<const std::byte> bytes, std::uint32_t before = 0);
std::uint32_t crc32c_reference(std::span<const std::byte> bytes, std::uint32_t before = 0);
// Without the processor's multiplication, or with 128 bits of it, wherever it runs.
std::uint32_t crc32_by_tables(std::span<const std::byte> bytes, std::uint32_t before = 0);
std::uint32_t crc32_by_narrow_folding(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace nadi::inline ground
