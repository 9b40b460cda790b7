// All-reduce, reduce-scatter, reduce and broadcast, by one algorithm: the array is cut into one part per
// member, its owner. An owner collects its part from the members that contribute (all; for a broadcast the
// root), combines the contributions in the order of places, and sends the result to the members that need it
// (all; the root; nobody). The exchange is pipelined in pieces: while later pieces arrive, earlier ones are
// combined and sent.
//
// A member sends and receives (n - 1)/n of the array, twice for an all-reduce: the least possible. Every
// result takes two messages however many members there are, where a ring would take 2n - 2 one after the
// other, each waiting for a process to be scheduled. The order of sums depends on places alone.
// Limitation: of many members on each of several hosts, all send to the other hosts; a reduction within
// each host first would put less on the network.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "nadi/comm/combine.h"
#include "nadi/comm/mpi_exchange.h"
#include "nadi/comm/mpi_rings.h"

namespace nadi::inline engines {

// An array of bytes cut into a part for each member: parts of `size` bytes one after the other, the first one
// that of member `first`, and the last ones shorter or empty.
struct MpiParts {
  std::int64_t bytes = 0;
  std::int64_t members = 1;
  std::int64_t size = 0;
  std::int64_t first = 0;

  std::int64_t begin_of(std::int64_t member) const {
    return std::min((member - first + members) % members * size, bytes);
  }
  std::int64_t size_of(std::int64_t member) const { return std::min(size, bytes - begin_of(member)); }
};

struct MpiCollectiveArgs {
  MpiGroup group = {};
  // Tag of what is sent to owners, and of results. No other exchange of the group that is under way has them.
  int collect_tag = 0;
  int deliver_tag = 1;

  std::byte* whole = nullptr;
  MpiParts parts = {};  // of `whole`, each owned by its member
  // Where this member's combined part goes: its place in `whole`, or elsewhere.
  std::byte* own_result = nullptr;
  std::int64_t piece_bytes = 1;  // whole elements

  std::optional<CombineAs> combine = {};  // else a broadcast: all comes from `root`
  enum class Deliver { kAll, kRoot, kNone };
  Deliver deliver = Deliver::kAll;
  std::int64_t root = 0;  // of a broadcast, or with kRoot

  MpiRings* rings = nullptr;  // of the group

  // Room of the ring for what arrives from others.
  std::int64_t ring_bytes() const;
};

class MpiCollective : public MpiExchange {
 public:
  void prepare(const MpiCollectiveArgs& args);

  void advance(MpiRequests& requests) override;
  void piece_done(const MpiPiece& piece) override;
  bool finished() const override;
  void end() override;
  std::int64_t most_pieces() const override;

 private:
  // Streams by member. kCollectSend: of member i's part to i; kCollectReceive: of this member's part from i;
  // kDeliverSend: results to i; kDeliverReceive: results from i.
  enum Kind { kCollectSend, kCollectReceive, kDeliverSend, kDeliverReceive, kKinds };

  bool collects(std::int64_t from, std::int64_t owner) const;
  bool delivers(std::int64_t owner, std::int64_t to) const;
  std::span<std::byte> part(std::int64_t member) const;
  MpiStream& stream(Kind kind, std::int64_t member) { return streams_[kind * args_.group.size + member]; }
  void begin();
  void advance(Kind kind, std::int64_t member, std::int64_t limit, MpiRequests& requests);
  void combine_arrived();
  void combine_piece(std::int64_t number);

  MpiCollectiveArgs args_;
  std::vector<MpiStream> streams_;
  // Rings of pieces that are yet to be combined, one per member, while it is under way.
  std::byte* arriving_ = nullptr;
  std::int64_t own_pieces_ = 0;
  std::int64_t combined_ = 0;  // of them: these are final
  std::vector<const std::byte*> arrays_;
};

}  // namespace nadi::inline engines
