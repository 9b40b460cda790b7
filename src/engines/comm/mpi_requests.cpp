#include "nadi/comm/mpi_requests.h"

#include <algorithm>
#include <functional>

#include "nadi/comm/mpi_error.h"

namespace nadi::inline engines {

void MpiRequests::reserve(std::int64_t pieces) {
  const auto count = static_cast<std::size_t>(pieces);
  if (count <= requests_.capacity()) return;
  requests_.reserve(count);
  pieces_.reserve(count);
  completed_.reserve(count);
  statuses_.reserve(count);
  done_.reserve(count);
}

void MpiRequests::send(const MpiPeer& to, std::span<const std::byte> bytes, const MpiPiece& piece) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(
      MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to.place, to.tag, to.comm, &request),
      "MPI_Isend");
  requests_.push_back(request);
  pieces_.push_back(piece);
}

void MpiRequests::receive(const MpiPeer& from, std::span<std::byte> bytes, const MpiPiece& piece) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, from.place, from.tag, from.comm,
                      &request),
            "MPI_Irecv");
  requests_.push_back(request);
  pieces_.push_back(piece);
}

std::span<const MpiPiece> MpiRequests::poll() {
  done_.clear();
  if (requests_.empty()) return done_;
  completed_.resize(requests_.size());
  statuses_.resize(requests_.size());
  int count = 0;
  const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count,
                                completed_.data(), statuses_.data());
  if (code == MPI_ERR_IN_STATUS)
    for (int i = 0; i < count; ++i) check_mpi(statuses_[i].MPI_ERROR, "MPI_Testsome");
  check_mpi(code, "MPI_Testsome");
  // From the back, so that what takes the place of a removed one is never one that is yet to be removed.
  std::sort(completed_.begin(), completed_.begin() + count, std::greater<>());
  for (int i = 0; i < count; ++i) {
    const int index = completed_[i];
    done_.push_back(pieces_[index]);
    requests_[index] = requests_.back();
    pieces_[index] = pieces_.back();
    requests_.pop_back();
    pieces_.pop_back();
  }
  return done_;
}

}  // namespace nadi::inline engines
