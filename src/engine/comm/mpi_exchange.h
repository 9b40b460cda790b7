// What one request does: a set of streams (mpi_stream.h), and what is done with their pieces when they
// arrive. The two kinds are those in which pieces are just moved (mpi_transfer.h) and those in which they are
// combined or passed on (mpi_collective.h).
#pragma once

#include "nadi/engine/comm/mpi_requests.h"
#include "nadi/engine/comm/mpi_stream.h"

namespace nadi {

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
};

}  // namespace nadi
