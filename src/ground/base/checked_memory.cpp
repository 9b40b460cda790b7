#include "nadi/base/checked_memory.h"

#include <algorithm>
#include <utility>

#include "nadi/base/crc32.h"
#include "nadi/base/error.h"
#include "nadi/base/format.h"
#include "nadi/base/message_text.h"

namespace nadi::inline ground {
namespace {

Error damaged(const CheckedMemory::Region& region, std::int64_t first, std::int64_t end, std::uint32_t found,
              std::uint32_t stated) {
  return input_error({.file = region.file, .byte = region.file_offset + first},
                     format("tensor {} is damaged: bytes {} to {} of it have the checksum {:08x}, not {:08x}",
                            quote_for_message(region.name), first, end - 1, found, stated),
                     "copy or download the file again, or use another checkpoint");
}

}  // namespace

CheckedMemory::Watched::Watched(Region given)
    : region(std::move(given)),
      taken(
          static_cast<std::size_t>(chunks_of(static_cast<std::int64_t>(region.bytes.size()), region.chunk))),
      found(region.whole ? taken.size() : 0),
      left(static_cast<std::int64_t>(taken.size())) {
  nadi::check(region.chunk > 0 && (region.whole || region.sums.size() == taken.size()),
              "a region has as many checksums as chunks");
}

void CheckedMemory::add(Region region) {
  if (region.bytes.empty()) return;
  const std::byte* const first = region.bytes.data();
  const bool small = static_cast<std::int64_t>(region.bytes.size()) <= kSmallRegion;
  const auto [entry, added] = regions_.try_emplace(first);
  if (!added) return;
  entry->second = std::make_unique<Watched>(std::move(region));
  if (small) check_chunks(*entry->second, 0, static_cast<std::int64_t>(entry->second->taken.size()));
}

void CheckedMemory::check_chunks(Watched& watched, std::int64_t first, std::int64_t end) {
  const Region& region = watched.region;
  const auto size = static_cast<std::int64_t>(region.bytes.size());
  for (std::int64_t chunk = first; chunk < end; ++chunk) {
    const auto number = static_cast<std::size_t>(chunk);
    if (watched.taken[number].exchange(true, std::memory_order_relaxed)) continue;
    const std::int64_t begin = chunk * region.chunk, behind = std::min(size, begin + region.chunk);
    const auto bytes =
        region.bytes.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(behind - begin));
    if (!region.whole) {
      if (const std::uint32_t sum = crc32c(bytes); sum != region.sums[number])
        throw damaged(region, begin, behind, sum, region.sums[number]);
      continue;
    }
    watched.found[number] = crc32(bytes);
    if (watched.left.fetch_sub(1, std::memory_order_acq_rel) > 1) continue;
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < watched.found.size(); ++i) {
      const std::int64_t from = static_cast<std::int64_t>(i) * region.chunk;
      sum = crc32_of_both(sum, watched.found[i],
                          static_cast<std::uint64_t>(std::min(region.chunk, size - from)));
    }
    if (sum != *region.whole) throw damaged(region, 0, size, sum, *region.whole);
  }
}

void CheckedMemory::check(std::span<const std::byte> part) const {
  if (part.empty() || regions_.empty()) return;
  const std::byte* const end = part.data() + part.size();
  auto next = regions_.upper_bound(part.data());
  if (next != regions_.begin()) --next;
  for (; next != regions_.end() && next->first < end; ++next) {
    Watched& watched = *next->second;
    const std::byte* const begins = watched.region.bytes.data();
    const std::byte* const first = std::max(part.data(), begins);
    const std::byte* const last = std::min(end, begins + watched.region.bytes.size());
    if (first >= last) continue;
    watched.touched.store(true, std::memory_order_relaxed);
    check_chunks(watched, (first - begins) / watched.region.chunk,
                 chunks_of(last - begins, watched.region.chunk));
  }
}

Bytes CheckedMemory::checked() const {
  std::int64_t sum = 0;
  for (const auto& [first, watched] : regions_) {
    const auto size = static_cast<std::int64_t>(watched->region.bytes.size());
    if (watched->region.whole) {
      if (watched->left == 0) sum += size;
      continue;
    }
    for (std::size_t i = 0; i < watched->taken.size(); ++i)
      if (watched->taken[i])
        sum += std::min(watched->region.chunk, size - static_cast<std::int64_t>(i) * watched->region.chunk);
  }
  return Bytes{sum};
}

bool CheckedMemory::was_read(std::span<const std::byte> part) const {
  auto found = regions_.upper_bound(part.data());
  if (found == regions_.begin()) return false;
  const Watched& watched = *(--found)->second;
  return part.data() < watched.region.bytes.data() + watched.region.bytes.size() && watched.touched;
}

void CheckedMemory::check_rest() const {
  for (const auto& [first, watched] : regions_)
    if (watched->region.whole && watched->touched)
      check_chunks(*watched, 0, static_cast<std::int64_t>(watched->taken.size()));
}

}  // namespace nadi::inline ground
