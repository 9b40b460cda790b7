#include "nadi/engine/comm/mpi_collective.h"

#include <algorithm>

#include "nadi/base/round_up.h"

namespace nadi {

MpiCollective::MpiCollective(MpiCollectiveArgs args) : args_(std::move(args)) {
  const std::int64_t members = args_.group.size;
  const std::int64_t own = args_.group.place;
  const std::int64_t piece = args_.piece_bytes;
  streams_.resize(kKinds * members);
  own_pieces_ = divided_up(args_.part_size[own], piece);
  arrays_.resize(members);
  const bool combines = args_.combine.has_value();
  if (combines && own_pieces_ > 0 && members > 1)
    arriving_ = std::make_unique_for_overwrite<std::byte[]>((members - 1) * kStreamWindow * piece);
  std::byte* ring = arriving_.get();
  for (std::int64_t i = 0; i < members; ++i) {
    const MpiPeer collect{args_.group.comm, static_cast<int>(i), args_.collect_tag};
    const MpiPeer deliver{args_.group.comm, static_cast<int>(i), args_.deliver_tag};
    if (collects(own, i)) stream(kCollectSend, i) = MpiStream::sending(collect, part(i), piece);
    if (collects(i, own)) {
      stream(kCollectReceive, i) =
          combines ? MpiStream::receiving_into_ring(collect, ring, args_.part_size[own], piece)
                   : MpiStream::receiving(collect, part(own), piece);
      if (combines) ring += kStreamWindow * piece;
    }
    if (delivers(own, i))
      stream(kDeliverSend, i) = MpiStream::sending(deliver, {args_.own_result, part(own).size()}, piece);
    if (delivers(i, own)) stream(kDeliverReceive, i) = MpiStream::receiving(deliver, part(i), piece);
  }
}

bool MpiCollective::collects(std::int64_t from, std::int64_t owner) const {
  return from != owner && (args_.combine.has_value() || from == args_.root);
}

bool MpiCollective::delivers(std::int64_t owner, std::int64_t to) const {
  if (owner == to) return false;
  switch (args_.deliver) {
    case MpiCollectiveArgs::Deliver::kAll:
      return args_.combine.has_value() || to != args_.root;
    case MpiCollectiveArgs::Deliver::kRoot:
      return to == args_.root;
    case MpiCollectiveArgs::Deliver::kNone:
      return false;
  }
  return false;
}

std::span<std::byte> MpiCollective::part(std::int64_t member) const {
  return {args_.whole + args_.part_begin[member], static_cast<std::size_t>(args_.part_size[member])};
}

void MpiCollective::advance(Kind kind, std::int64_t member, std::int64_t limit, MpiRequests& requests) {
  const auto id = static_cast<std::int32_t>(kind * args_.group.size + member);
  stream(kind, member).advance(requests, {.exchange = this, .stream = id}, limit);
}

void MpiCollective::advance(MpiRequests& requests) {
  const std::int64_t members = args_.group.size;
  combine_arrived();
  for (std::int64_t i = 0; i < members; ++i) {
    const MpiStream& to_owner = stream(kCollectSend, i);
    advance(kCollectSend, i, to_owner.pieces(), requests);
    // A ring has room for what comes after the pieces that are combined.
    advance(kCollectReceive, i, args_.combine ? combined_ + kStreamWindow : own_pieces_, requests);
    advance(kDeliverSend, i, combined_, requests);
    // The result arrives where this member's contribution was sent from: not before that has left.
    const MpiStream& from_owner = stream(kDeliverReceive, i);
    advance(kDeliverReceive, i, to_owner.pieces() > 0 ? to_owner.done() : from_owner.pieces(), requests);
  }
}

void MpiCollective::combine_arrived() {
  std::int64_t arrived = own_pieces_;
  for (std::int64_t i = 0; i < args_.group.size; ++i)
    if (collects(i, args_.group.place)) arrived = std::min(arrived, stream(kCollectReceive, i).done());
  for (; combined_ < arrived; ++combined_)
    if (args_.combine) combine_piece(combined_);
}

void MpiCollective::combine_piece(std::int64_t number) {
  const std::int64_t own = args_.group.place;
  const std::int64_t begin = number * args_.piece_bytes;
  const std::int64_t size = std::min(args_.piece_bytes, args_.part_size[own] - begin);
  for (std::int64_t i = 0; i < args_.group.size; ++i)
    arrays_[i] = i == own ? part(own).data() + begin : stream(kCollectReceive, i).piece(number).data();
  combine(arrays_, size / size_of(args_.combine->dtype), *args_.combine, args_.own_result + begin);
}

void MpiCollective::piece_done(const MpiPiece& piece) {
  streams_[piece.stream].piece_done(piece.number);
}

bool MpiCollective::finished() const {
  return combined_ == own_pieces_ && std::ranges::all_of(streams_, &MpiStream::finished);
}

}  // namespace nadi
