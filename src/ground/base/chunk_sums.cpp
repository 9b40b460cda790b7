#include "nadi/base/chunk_sums.h"

#include <algorithm>

#include "nadi/base/crc32.h"
#include "nadi/base/error.h"

namespace nadi::inline ground {

std::int64_t chunks_of(std::int64_t bytes, std::int64_t chunk) {
  return bytes / chunk + (bytes % chunk != 0 ? 1 : 0);
}

std::vector<ChunkPart> parts_of_chunks(std::int64_t offset, std::span<const std::byte> bytes) {
  std::vector<ChunkPart> parts;
  while (!bytes.empty()) {
    const std::int64_t left = kSumChunk - offset % kSumChunk;
    const std::int64_t size = std::min(left, static_cast<std::int64_t>(bytes.size()));
    const auto part = bytes.first(static_cast<std::size_t>(size));
    parts.push_back({.offset = offset, .size = size, .sum = crc32c(part)});
    bytes = bytes.subspan(part.size());
    offset += size;
  }
  return parts;
}

void ChunkSums::add(std::int64_t offset, std::span<const std::byte> bytes) {
  add(parts_of_chunks(offset, bytes));
}

std::vector<std::uint32_t> ChunkSums::take() {
  std::ranges::sort(parts_, {}, &ChunkPart::offset);
  std::vector<std::uint32_t> sums(static_cast<std::size_t>(chunks_of(size_.count())), 0);
  std::int64_t at = 0;
  for (const ChunkPart& part : parts_) {
    check(part.offset == at && part.size <= size_.count() - at,
          "the parts of summed bytes do not follow each other");
    std::uint32_t& sum = sums[static_cast<std::size_t>(at / kSumChunk)];
    sum = crc32c_of_both(sum, part.sum, static_cast<std::uint64_t>(part.size));
    at += part.size;
  }
  check(at == size_.count(), "some bytes were not summed");
  return sums;
}

}  // namespace nadi::inline ground
