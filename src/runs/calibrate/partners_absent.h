// The communicator of a rank whose partners are not there: what it starts is done at once. A program of any
// plan then runs on one process and computes what its rank would compute, without waiting for anybody: how
// the kernels of a plan are measured apart from its messages.
//
//   PartnersAbsent world(plan.world_size(), rank);
//   const PlanGroups groups(world, plan);
//   make_engine(DeviceKind::kCpu, {.groups = &groups});
//
// Values are not those of the plan: every other member is taken to hold what this one holds, and what is
// received is whatever the memory held. Times of kernels do not depend on values.
#pragma once

#include "nadi/comm/communicator.h"

namespace nadi::inline runs {

class PartnersAbsent : public Communicator {
 public:
  PartnersAbsent(std::int64_t size, Rank rank) : size_(size), rank_(rank) {}

  Rank rank() const override { return rank_; }
  std::int64_t size() const override { return size_; }
  bool can_move(CommMemory memory) const override { return memory == CommMemory::kHost; }
  CommGroup add_group(std::span<const Rank> members) override;

  CommRequest all_reduce(CommLine line, CommBuffer buffer, ReduceOp op) override;
  CommRequest reduce(CommLine line, CommBuffer buffer, ReduceOp op, std::int64_t root) override;
  CommRequest all_gather(CommLine line, std::span<const std::byte> part, std::span<std::byte> whole) override;
  CommRequest reduce_scatter(CommLine line, CommBuffer whole, std::span<std::byte> part,
                             ReduceOp op) override;
  CommRequest broadcast(CommLine line, std::span<std::byte> bytes, std::int64_t root) override;
  CommRequest all_to_all(CommLine line, std::span<const std::byte> from, std::span<std::byte> to) override;
  CommRequest send(CommLine line, std::int64_t peer, std::int64_t tag,
                   std::span<const std::byte> bytes) override;
  CommRequest receive(CommLine line, std::int64_t peer, std::int64_t tag,
                      std::span<std::byte> bytes) override;

  void stream_wait(StreamId stream, CommRequest request) override;
  std::optional<Nanoseconds> test(CommRequest request) override;
  Nanoseconds wait(CommRequest request) override;
  void barrier(CommGroup group) override;

 private:
  std::int64_t size_;
  Rank rank_;
  std::uint32_t groups_ = 1;
};

}  // namespace nadi::inline runs
