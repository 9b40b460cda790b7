// Memory for pieces of reductions that have arrived and are yet to be combined, of one group: a ring for each
// collective that may be under way.
//
//   rings.reserve(bytes);             // when a reduction is started
//   std::byte* ring = rings.take();   // when it begins,
//   rings.give_back(ring);            // and when it is done
//
// Allocates only while reductions grow beyond all that came before: rings have the size of the largest, also
// those that were never used, so that it does not matter how many happen to be under way. Not thread-safe:
// whoever calls holds the lock around MPI (mpi_progress.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace nadi::inline engines {

// How many of one group. More would take memory for arriving pieces; fewer would leave the second of two short ones
// waiting for a round trip.
inline constexpr std::int64_t kCollectivesUnderWay = 4;

class MpiRings {
 public:
  void reserve(std::int64_t bytes);
  std::byte* take();
  void give_back(std::byte* memory);

 private:
  struct Ring {
    std::unique_ptr<std::byte[]> memory;
    std::int64_t bytes = 0;
    bool used = false;
  };
  void grow(Ring& ring) const;

  std::array<Ring, kCollectivesUnderWay> rings_;
  std::int64_t bytes_ = 0;  // of each that is not in use
};

}  // namespace nadi::inline engines
