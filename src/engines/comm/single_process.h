// The communicator of a job with one rank. Every group is this rank alone, so what is started is done at
// once, and there is nobody to send to.
#pragma once

#include "nadi/comm/communicator.h"

namespace nadi::inline engines {

class SingleProcess : public Communicator {
 public:
  Rank rank() const override { return Rank{0}; }
  std::int64_t size() const override { return 1; }
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
  // A bug in the caller.
  CommRequest send(CommLine line, std::int64_t peer, std::int64_t tag,
                   std::span<const std::byte> bytes) override;
  CommRequest receive(CommLine line, std::int64_t peer, std::int64_t tag,
                      std::span<std::byte> bytes) override;

  void stream_wait(StreamId stream, CommRequest request) override;
  std::optional<Nanoseconds> test(CommRequest request) override;
  Nanoseconds wait(CommRequest request) override;
  void barrier(CommGroup group) override;

 private:
  std::uint32_t groups_ = 1;
};

}  // namespace nadi::inline engines
