#include "nadi/comm/mpi_transfer.h"

#include <algorithm>

namespace nadi::inline engines {

void MpiTransfer::advance(MpiRequests& requests) {
  for (std::size_t i = 0; i < streams_.size(); ++i)
    streams_[i].advance(requests, {.exchange = this, .stream = static_cast<std::int32_t>(i)},
                        streams_[i].pieces());
}

void MpiTransfer::piece_done(const MpiPiece& piece) {
  streams_[piece.stream].piece_done(piece.number);
}

bool MpiTransfer::finished() const {
  return std::ranges::all_of(streams_, &MpiStream::finished);
}

std::int64_t MpiTransfer::most_pieces() const {
  std::int64_t sum = 0;
  for (const MpiStream& stream : streams_) sum += std::min(stream.pieces(), kStreamWindow);
  return sum;
}

}  // namespace nadi::inline engines
