#include "nadi/comm/mpi_stream.h"

#include <algorithm>

#include "nadi/base/round_up.h"

namespace nadi::inline engines {

MpiStream MpiStream::receiving(const MpiPeer& from, std::span<std::byte> bytes, std::int64_t piece_bytes) {
  MpiStream stream =
      receiving_into_ring(from, bytes.data(), static_cast<std::int64_t>(bytes.size()), piece_bytes);
  stream.ring_ = false;
  return stream;
}

MpiStream MpiStream::sending(const MpiPeer& to, std::span<const std::byte> bytes, std::int64_t piece_bytes) {
  // Only read: advance() hands it to send().
  MpiStream stream = receiving(to, {const_cast<std::byte*>(bytes.data()), bytes.size()}, piece_bytes);
  stream.sends_ = true;
  return stream;
}

MpiStream MpiStream::receiving_into_ring(const MpiPeer& from, std::byte* ring, std::int64_t bytes,
                                         std::int64_t piece_bytes) {
  MpiStream stream;
  stream.peer_ = from;
  stream.data_ = ring;
  stream.bytes_ = bytes;
  stream.piece_bytes_ = piece_bytes;
  stream.ring_ = true;
  stream.pieces_ = divided_up(bytes, piece_bytes);
  return stream;
}

std::span<std::byte> MpiStream::piece(std::int64_t number) const {
  const std::int64_t place = ring_ ? number % kStreamWindow : number;
  const std::int64_t size = std::min(piece_bytes_, bytes_ - number * piece_bytes_);
  return {data_ + place * piece_bytes_, static_cast<std::size_t>(size)};
}

void MpiStream::advance(MpiRequests& requests, MpiPiece owner, std::int64_t limit) {
  limit = std::min({limit, pieces_, done_ + kStreamWindow});
  for (; started_ < limit; ++started_) {
    owner.number = started_;
    if (sends_)
      requests.send(peer_, piece(started_), owner);
    else
      requests.receive(peer_, piece(started_), owner);
  }
}

void MpiStream::piece_done(std::int64_t number) {
  done_ahead_ |= 1U << (number - done_);
  for (; (done_ahead_ & 1U) != 0; done_ahead_ >>= 1) ++done_;
}

}  // namespace nadi::inline engines
