// Streams that do not depend on each other: send, receive, all-gather and all-to-all.
#pragma once

#include <vector>

#include "nadi/comm/mpi_exchange.h"

namespace nadi::inline engines {

class MpiTransfer : public MpiExchange {
 public:
  // A new one begins without streams.
  void clear() { streams_.clear(); }
  void add(const MpiStream& stream) { streams_.push_back(stream); }

  void advance(MpiRequests& requests) override;
  void piece_done(const MpiPiece& piece) override;
  bool finished() const override;
  std::int64_t most_pieces() const override;

 private:
  std::vector<MpiStream> streams_;
};

}  // namespace nadi::inline engines
