// Checks the bytes of mapped files against their checksums when they are first read.
//
//   CheckedMemory memory;
//   memory.add({.bytes = mapped, .name = "wte.weight", .file = "model.safetensors", .file_offset = 4096,
//               .chunk = kSumChunk, .sums = sums});            // CRC-32C by chunks (chunk_sums.h)
//   memory.add({.bytes = storage, .name = "h.0.weight", .file = "pytorch_model.bin", .whole = crc});
//   ...
//   memory.check(part);            // before the part is used: its chunks are summed, each once
//   memory.check_rest();           // at the end
//
// A region with sums by chunks is checked by the chunks that a part touches. A region with one sum of all
// (CRC-32, as archives have it) is summed chunk by chunk as its parts come, in any order, and compared when
// the last chunk was summed; check_rest() sums what is missing of regions that were read in part. Either way
// the bytes pass through the cache once: they are summed just before they are copied. Regions of up to
// kSmallRegion are checked when they are added.
//
// What does not agree is Error (input) with the file, the byte, and the name. Bytes in no region are not
// checked. check() and check_rest() may be called by several threads at once, add() may not.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nadi/base/chunk_sums.h"

namespace nadi::inline ground {

// Whether what is read is compared with its checksums.
enum class Verify : std::uint8_t { kYes, kNo };

class CheckedMemory {
 public:
  static constexpr std::int64_t kSmallRegion = std::int64_t{64} << 10;

  struct Region {
    std::span<const std::byte> bytes = {};
    std::string name = {};
    std::string file = {};
    std::int64_t file_offset = 0;  // of the first byte
    std::int64_t chunk = kSumChunk;
    std::vector<std::uint32_t> sums = {};     // by chunks, or
    std::optional<std::uint32_t> whole = {};  // of all
  };

  // A region that is there is not added again. Regions do not overlap otherwise.
  void add(Region region);

  void check(std::span<const std::byte> part) const;
  void check_rest() const;

  // How many bytes were found to have their checksums.
  Bytes checked() const;

  // Whether check() was called for some of the region that has the first byte of these.
  bool was_read(std::span<const std::byte> part) const;

 private:
  struct Watched {
    explicit Watched(Region given);
    Region region;
    // By chunk: whether it was summed, or somebody is at it.
    std::vector<std::atomic<bool>> taken;
    std::vector<std::uint32_t> found;  // of one sum of all: by chunk
    std::atomic<std::int64_t> left;    // of one sum of all: chunks to sum
    std::atomic<bool> touched = false;
  };
  static void check_chunks(Watched& watched, std::int64_t first, std::int64_t end);

  std::map<const std::byte*, std::unique_ptr<Watched>> regions_;  // by their first byte
};

}  // namespace nadi::inline ground
