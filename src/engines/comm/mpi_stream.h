// A message between two members of a group, cut into pieces, of which a few are under way at a time.
//
// Why in pieces: a large message is copied by the call that makes progress, while it holds the lock around
// MPI; pieces keep that short, stay in the cache between the copy and the sum, and let a sum be passed on
// while its rest is still arriving. And MPI counts with int.
//
// Pieces of a stream are started in order; since MPI does not let messages with the same communicator and tag
// overtake each other, they arrive in order, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "nadi/comm/mpi_requests.h"

namespace nadi::inline engines {

// Pieces of one stream under way at a time: enough for what a rank does between two looks of another's
// thread.
inline constexpr std::int64_t kStreamWindow = 8;

class MpiStream {
 public:
  MpiStream() = default;  // nothing to send
  static MpiStream sending(const MpiPeer& to, std::span<const std::byte> bytes, std::int64_t piece_bytes);
  static MpiStream receiving(const MpiPeer& from, std::span<std::byte> bytes, std::int64_t piece_bytes);
  // `bytes` bytes into a ring of kStreamWindow pieces at `ring`: advance() is then called with a limit that
  // keeps the pieces which are still needed.
  static MpiStream receiving_into_ring(const MpiPeer& from, std::byte* ring, std::int64_t bytes,
                                       std::int64_t piece_bytes);

  // Where the ring is, when it was not known yet.
  void set_ring(std::byte* ring) { data_ = ring; }

  std::int64_t pieces() const { return pieces_; }
  std::int64_t done() const { return done_; }  // so many, the first ones, are complete
  bool finished() const { return done_ == pieces_; }
  std::span<std::byte> piece(std::int64_t number) const;

  // Starts pieces below `limit` as far as the window allows. `owner` says whose they are.
  void advance(MpiRequests& requests, MpiPiece owner, std::int64_t limit);
  void piece_done(std::int64_t number);

 private:
  MpiPeer peer_ = {};
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
  std::int64_t piece_bytes_ = 1;
  bool sends_ = false;
  bool ring_ = false;
  std::int64_t pieces_ = 0;
  std::int64_t started_ = 0;
  std::int64_t done_ = 0;
  std::uint32_t done_ahead_ = 0;  // bit i: piece done_ + i is complete, though an earlier one is not
};

}  // namespace nadi::inline engines
