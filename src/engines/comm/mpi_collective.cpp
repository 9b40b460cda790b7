#include "nadi/comm/mpi_collective.h"

#include <algorithm>

#include "nadi/base/error.h"
#include "nadi/base/round_up.h"

namespace nadi::inline engines {
namespace {

// Room for what arrives from one member, in a ring of a window of pieces; what is less than that needs less.
std::int64_t ring_of_one(const MpiCollectiveArgs& args) {
  return std::min(kStreamWindow * args.piece_bytes, args.parts.size_of(args.group.place));
}

}  // namespace

std::int64_t MpiCollectiveArgs::ring_bytes() const {
  return combine ? (group.size - 1) * ring_of_one(*this) : 0;
}

void MpiCollective::prepare(const MpiCollectiveArgs& args) {
  args_ = args;
  const std::int64_t members = args_.group.size;
  const std::int64_t own = args_.group.place;
  const std::int64_t piece = args_.piece_bytes;
  own_pieces_ = divided_up(args_.parts.size_of(own), piece);
  combined_ = 0;
  check(arriving_ == nullptr, "an exchange is used again before it has ended");
  arrays_.assign(members, nullptr);
  streams_.assign(kKinds * members, {});
  for (std::int64_t i = 0; i < members; ++i) {
    const MpiPeer collect{args_.group.comm, static_cast<int>(i), args_.collect_tag};
    const MpiPeer deliver{args_.group.comm, static_cast<int>(i), args_.deliver_tag};
    if (collects(own, i)) stream(kCollectSend, i) = MpiStream::sending(collect, part(i), piece);
    // Where it is combined it arrives in a ring, which is there when it begins.
    if (collects(i, own))
      stream(kCollectReceive, i) =
          args_.combine ? MpiStream::receiving_into_ring(collect, nullptr, args_.parts.size_of(own), piece)
                        : MpiStream::receiving(collect, part(own), piece);
    if (delivers(own, i))
      stream(kDeliverSend, i) = MpiStream::sending(deliver, {args_.own_result, part(own).size()}, piece);
    if (delivers(i, own)) stream(kDeliverReceive, i) = MpiStream::receiving(deliver, part(i), piece);
  }
}

void MpiCollective::begin() {
  arriving_ = args_.rings->take();
  std::byte* ring = arriving_;
  for (std::int64_t i = 0; i < args_.group.size; ++i) {
    if (!collects(i, args_.group.place)) continue;
    stream(kCollectReceive, i).set_ring(ring);
    ring += ring_of_one(args_);
  }
}

void MpiCollective::end() {
  if (arriving_ != nullptr) args_.rings->give_back(arriving_);
  arriving_ = nullptr;
}

std::int64_t MpiCollective::most_pieces() const {
  std::int64_t sum = 0;
  for (const MpiStream& stream : streams_) sum += std::min(stream.pieces(), kStreamWindow);
  return sum;
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
  return {args_.whole + args_.parts.begin_of(member), static_cast<std::size_t>(args_.parts.size_of(member))};
}

void MpiCollective::advance(Kind kind, std::int64_t member, std::int64_t limit, MpiRequests& requests) {
  const auto id = static_cast<std::int32_t>(kind * args_.group.size + member);
  stream(kind, member).advance(requests, {.exchange = this, .stream = id}, limit);
}

void MpiCollective::advance(MpiRequests& requests) {
  const std::int64_t members = args_.group.size;
  if (arriving_ == nullptr && combined_ < own_pieces_ && args_.ring_bytes() > 0) begin();
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
  const std::int64_t size = std::min(args_.piece_bytes, args_.parts.size_of(own) - begin);
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

}  // namespace nadi::inline engines
