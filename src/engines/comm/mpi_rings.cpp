#include "nadi/comm/mpi_rings.h"

#include <algorithm>

#include "nadi/base/error.h"

namespace nadi::inline engines {

void MpiRings::grow(Ring& ring) const {
  if (ring.used || ring.bytes >= bytes_) return;
  ring.memory.reset();
  ring.memory = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes_));
  ring.bytes = bytes_;
}

void MpiRings::reserve(std::int64_t bytes) {
  if (bytes <= bytes_) return;
  bytes_ = bytes;
  for (Ring& ring : rings_) grow(ring);
}

std::byte* MpiRings::take() {
  const auto free = std::ranges::find(rings_, false, &Ring::used);
  check(free != rings_.end(), "more collectives of a group are under way than may be");
  free->used = true;
  return free->memory.get();
}

void MpiRings::give_back(std::byte* memory) {
  const auto ring =
      std::ranges::find_if(rings_, [&](const Ring& r) { return r.used && r.memory.get() == memory; });
  check(ring != rings_.end(), "a ring that was not taken");
  ring->used = false;
  grow(*ring);  // a larger reduction was started meanwhile
}

}  // namespace nadi::inline engines
