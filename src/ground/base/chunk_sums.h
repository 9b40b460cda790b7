// Checksums (CRC-32C) of a run of bytes by chunks of one size, the last one shorter: whoever reads a part of
// the bytes later checks the chunks that the part touches, and no others.
//
//   ChunkSums sums(Bytes{size});
//   sums.add(0, first);                       // parts in any order, of any sizes, each byte once
//   sums.add(first.size(), second);
//   std::vector<std::uint32_t> all = sums.take();
//
// Not thread-safe; parts_of_chunks() is what several threads call for themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nadi/base/units.h"

namespace nadi::inline ground {

// Large enough that the sums are 4 bytes in a million, small enough that a chunk that was summed is still in
// the processor's cache when it is copied.
inline constexpr std::int64_t kSumChunk = std::int64_t{1} << 20;

// How many chunks so many bytes have.
std::int64_t chunks_of(std::int64_t bytes, std::int64_t chunk = kSumChunk);

// The sum of bytes [offset, offset + size) of the run, which lie in one chunk.
struct ChunkPart {
  std::int64_t offset = 0;
  std::int64_t size = 0;
  std::uint32_t sum = 0;
};
std::vector<ChunkPart> parts_of_chunks(std::int64_t offset, std::span<const std::byte> bytes);

class ChunkSums {
 public:
  explicit ChunkSums(Bytes size) : size_(size) {}

  void add(std::int64_t offset, std::span<const std::byte> bytes);
  void add(std::span<const ChunkPart> parts) { parts_.insert(parts_.end(), parts.begin(), parts.end()); }

  // Called once, last. Bytes that are missing or were added twice are bugs of the caller.
  std::vector<std::uint32_t> take();

 private:
  Bytes size_;
  std::vector<ChunkPart> parts_;
};

}  // namespace nadi::inline ground
