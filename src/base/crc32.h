// CRC-32 as ZIP archives and gzip have it (polynomial 0x04c11db7, bits reflected, inverted before and after).
//
//   std::uint32_t sum = crc32(first);
//   sum = crc32(second, sum);                                      // of first and second, one after the
//   other sum = crc32_of_both(crc32(first), crc32(second), second.size());   // the same, computed apart
//
// Parts that several threads write are summed where they are written and put together afterwards.
//
// Folds 64 bytes at a time with the carry-less multiplication of x86 processors that have it (PCLMULQDQ), and
// goes by tables on others. crc32_reference() is the plain version, bit by bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace nadi {

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);
std::uint32_t crc32_of_both(std::uint32_t first, std::uint32_t second, std::uint64_t second_size);

std::uint32_t crc32_reference(std::span<const std::byte> bytes, std::uint32_t before = 0);
// Without the processor's multiplication, wherever it runs.
std::uint32_t crc32_by_tables(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace nadi
