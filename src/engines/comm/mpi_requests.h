// The pieces of messages that MPI has under way in this process. Not thread-safe: whoever calls holds the one
// lock around MPI (mpi_progress.h).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace nadi::inline engines {

class MpiExchange;

// A piece, as the exchange that it belongs to knows it.
struct MpiPiece {
  MpiExchange* exchange = nullptr;
  std::int32_t stream = 0;
  std::int64_t number = 0;
};

// Where a message goes to, or comes from.
struct MpiPeer {
  MPI_Comm comm = MPI_COMM_NULL;
  int place = 0;
  int tag = 0;
};

class MpiRequests {
 public:
  void send(const MpiPeer& to, std::span<const std::byte> bytes, const MpiPiece& piece);
  void receive(const MpiPeer& from, std::span<std::byte> bytes, const MpiPiece& piece);

  // Room for so many pieces under way: nothing is allocated up to there.
  void reserve(std::int64_t pieces);

  bool empty() const { return requests_.empty(); }

  // Lets MPI make progress. The pieces that are done since the last call; valid until the next.
  std::span<const MpiPiece> poll();

 private:
  std::vector<MPI_Request> requests_;
  std::vector<MpiPiece> pieces_;  // of the request with the same number
  std::vector<int> completed_;
  std::vector<MPI_Status> statuses_;
  std::vector<MpiPiece> done_;
};

}  // namespace nadi::inline engines
