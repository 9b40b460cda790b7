// The communicator over MPI, on host memory. Uses MPI for what it is best at, moving messages among processes
// and hosts; collectives are our own (mpi_collective.h), since the non-blocking ones of the
// library are several times slower for large arrays and do not specify the order of sums.
//
// Not for including elsewhere: mpi_session.h makes one.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "nadi/comm/communicator.h"
#include "nadi/comm/mpi_progress.h"

namespace nadi::inline engines {

class MpiCommunicator : public Communicator {
 public:
  // MPI has been initialised, and stays so until this is gone. Pieces have a multiple of 8 bytes, the same on
  // every rank.
  explicit MpiCommunicator(std::int64_t piece_bytes);
  ~MpiCommunicator() override;

  Rank rank() const override;
  std::int64_t size() const override;
  bool can_move(CommMemory memory) const override { return memory == CommMemory::kHost; }
  CommGroup add_group(std::span<const Rank> members) override;

  CommRequest all_reduce(CommLine line, CommBuffer buffer, ReduceOp op) override;
  CommRequest reduce(CommLine line, CommBuffer buffer, ReduceOp op, std::int64_t root) override;
  CommRequest all_gather(CommLine line, std::span<const std::byte> part, std::span<std::byte> whole) override;
  CommRequest reduce_scatter(CommLine line, CommBuffer whole, std::span<std::byte> part,
                             ReduceOp op) override;
  CommRequest broadcast(CommLine line, std::span<std::byte> bytes, std::int64_t root) override;
  CommRequest all_to_all(CommLine line, std::span<const std::byte> from, std::span<std::byte> to) override;
  CommRequest exchange(CommLine line, std::span<const std::byte> from, std::span<std::byte> to,
                       const ExchangeSizes& sizes) override;
  CommRequest send(CommLine line, std::int64_t peer, std::int64_t tag,
                   std::span<const std::byte> bytes) override;
  CommRequest receive(CommLine line, std::int64_t peer, std::int64_t tag,
                      std::span<std::byte> bytes) override;

  void stream_wait(StreamId stream, CommRequest request) override;
  std::optional<Nanoseconds> test(CommRequest request) override;
  Nanoseconds wait(CommRequest request) override;
  void barrier(CommGroup group) override;

  bool idle() { return progress_->idle(); }

  // To be called before MPI ends, where it ends in order.
  void free_groups();

 private:
  struct Group : MpiGroup {
    std::uint64_t collectives = 0;    // started so far
    std::unique_ptr<MpiRings> rings;  // exchanges point to it
  };

  Group& group_of(const CommLine& line);
  int next_tag(Group& group);
  int message_tag(std::int64_t tag) const;
  // The array cut into parts of whole elements for as many members as it is worth, beginning with `first`.
  static void cut(const Group& group, CommBuffer buffer, std::int64_t first, MpiCollectiveArgs& args);
  CommRequest start_collective(const CommLine& line, MpiCollectiveArgs& args);
  CommRequest message(const CommLine& line, const MpiLane& lane, const MpiStream& stream);

  std::int64_t piece_bytes_;
  std::int64_t tags_ = 0;  // of each kind
  std::vector<Group> groups_;
  std::unique_ptr<MpiProgress> progress_;
};

}  // namespace nadi::inline engines
