// A request is the time at which it was done: nothing has to be kept for it.
#include "nadi/comm/single_process.h"

#include <cstring>

#include "nadi/base/error.h"
#include "nadi/comm/combine.h"
#include "nadi/comm/steady_time.h"

namespace nadi::inline engines {
namespace {

// A group of one is of the host, like all that this communicator moves.
CommRequest done_now(const CommLine& line) {
  check(line.memory == CommMemory::kHost, "this communicator moves memory of the host only");
  return CommRequest{static_cast<std::uint64_t>(steady_time().count())};
}

CommRequest copied(const CommLine& line, std::span<const std::byte> from, std::span<std::byte> to) {
  check(from.size() == to.size(), "in a group of one, a part is the whole");
  if (!from.empty() && from.data() != to.data()) std::memcpy(to.data(), from.data(), from.size());
  return done_now(line);
}

void check_reduction(CommBuffer buffer, ReduceOp op) {
  check(can_combine({buffer.dtype, op}), "these elements are not combined in this way");
}

}  // namespace

CommGroup SingleProcess::add_group(std::span<const Rank> members) {
  check(members.size() == 1 && members[0] == rank(), "the only rank of the job is 0");
  return CommGroup{groups_++};
}

CommRequest SingleProcess::all_reduce(CommLine line, CommBuffer buffer, ReduceOp op) {
  check_reduction(buffer, op);
  return done_now(line);
}

CommRequest SingleProcess::reduce(CommLine line, CommBuffer buffer, ReduceOp op, std::int64_t root) {
  check_reduction(buffer, op);
  check(root == 0, "the root is no member of the group");
  return done_now(line);
}

CommRequest SingleProcess::all_gather(CommLine line, std::span<const std::byte> part,
                                      std::span<std::byte> whole) {
  return copied(line, part, whole);
}

CommRequest SingleProcess::reduce_scatter(CommLine line, CommBuffer whole, std::span<std::byte> part,
                                          ReduceOp op) {
  check_reduction(whole, op);
  return copied(line, whole.bytes, part);
}

CommRequest SingleProcess::broadcast(CommLine line, std::span<std::byte> /*bytes*/, std::int64_t root) {
  check(root == 0, "the root is no member of the group");
  return done_now(line);
}

CommRequest SingleProcess::all_to_all(CommLine line, std::span<const std::byte> from,
                                      std::span<std::byte> to) {
  return copied(line, from, to);
}

CommRequest SingleProcess::exchange(CommLine line, std::span<const std::byte> from, std::span<std::byte> to,
                                    const ExchangeSizes& sizes) {
  const auto size = static_cast<std::size_t>(sizes.sent[0]);
  return copied(line, from.first(size), to.first(size));
}

CommRequest SingleProcess::send(CommLine /*line*/, std::int64_t /*peer*/, std::int64_t /*tag*/,
                                std::span<const std::byte> /*bytes*/) {
  check(false, "a job of one rank has nobody to send to");
  unreachable();
}

CommRequest SingleProcess::receive(CommLine /*line*/, std::int64_t /*peer*/, std::int64_t /*tag*/,
                                   std::span<std::byte> /*bytes*/) {
  check(false, "a job of one rank has nobody to receive from");
  unreachable();
}

void SingleProcess::stream_wait(StreamId /*stream*/, CommRequest /*request*/) {}

std::optional<Nanoseconds> SingleProcess::test(CommRequest request) {
  return wait(request);
}

Nanoseconds SingleProcess::wait(CommRequest request) {
  return Nanoseconds{static_cast<std::int64_t>(request)};
}

void SingleProcess::barrier(CommGroup /*group*/) {}

}  // namespace nadi::inline engines
