// What one request does: a set of streams (mpi_stream.h), and what is done with their pieces when they
// arrive. The two kinds are those in which pieces are just moved (mpi_transfer.h) and those in which they are
// combined or passed on (mpi_collective.h).
//
// An exchange is used again for later requests, and keeps its memory for them.
#pragma once

#include "nadi/comm/mpi_requests.h"
#include "nadi/comm/mpi_stream.h"

namespace nadi::inline engines {

// A group as an exchange sees it.
struct MpiGroup {
  MPI_Comm comm = MPI_COMM_NULL;
  std::int64_t size = 1;
  std::int64_t place = 0;  // of this rank
};

class MpiExchange {
 public:
  virtual ~MpiExchange() = default;

  // Starts what can be started; called first, and again after pieces are done.
  virtual void advance(MpiRequests& requests) = 0;
  virtual void piece_done(const MpiPiece& piece) = 0;
  virtual bool finished() const = 0;
  // When it is finished: gives back what it had only while it was under way.
  virtual void end() {}
  // So many pieces are under way at once, at most.
  virtual std::int64_t most_pieces() const = 0;

  std::uint32_t slot = 0;  // which one has it (mpi_progress.h)
};

}  // namespace nadi::inline engines
