// A communicator that writes down what another one is asked for (comm_record.h), and passes it on.
//
//   RecordedCommunicator world(mpi, record);
//
// Results, requests and groups are those of the other one. A request that is waited for by a stream counts
// as waited for: on the host's memory that blocks.
#pragma once

#include "nadi/comm/comm_record.h"
#include "nadi/comm/communicator.h"

namespace nadi::inline engines {

class RecordedCommunicator : public Communicator {
 public:
  // Both must outlive this. The record has the group of all ranks, and `inner` has no other.
  RecordedCommunicator(Communicator& inner, CommRecord& record);

  Rank rank() const override { return inner_.rank(); }
  std::int64_t size() const override { return inner_.size(); }
  bool can_move(CommMemory memory) const override { return inner_.can_move(memory); }
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
  void forget(CommRequest request) override;
  void barrier(CommGroup group) override;
  CommRecord* record() override { return &record_; }

 private:
  template <class Call>
  CommRequest started(const CommRecord::Start& start, const Call& call);

  Communicator& inner_;
  CommRecord& record_;
};

}  // namespace nadi::inline engines
