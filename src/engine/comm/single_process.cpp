// A request is the time at which it was done: nothing has to be kept for it.
#include "nadi/engine/comm/single_process.h"

#include <cstring>

#include "nadi/base/error.h"
#include "nadi/engine/comm/combine.h"
#include "nadi/engine/comm/steady_time.h"

namespace nadi {
namespace {

CommRequest done_now() {
  return CommRequest{static_cast<std::uint64_t>(steady_time().count())};
}

CommRequest copied(std::span<const std::byte> from, std::span<std::byte> to) {
  check(from.size() == to.size(), "in a group of one, a part is the whole");
  if (!from.empty() && from.data() != to.data()) std::memcpy(to.data(), from.data(), from.size());
  return done_now();
}

void check_reduction(CommBuffer buffer, ReduceOp op) {
  check(can_combine({buffer.dtype, op}), "these elements are not combined in this way");
}

}  // namespace

CommGroup SingleProcess::add_group(std::span<const Rank> members) {
  check(members.size() == 1 && members[0] == rank(), "the only rank of the job is 0");
  return CommGroup{groups_++};
}

CommRequest SingleProcess::all_reduce(CommGroup /*group*/, CommBuffer buffer, ReduceOp op) {
  check_reduction(buffer, op);
  return done_now();
}

CommRequest SingleProcess::reduce(CommGroup /*group*/, CommBuffer buffer, ReduceOp op, std::int64_t root) {
  check_reduction(buffer, op);
  check(root == 0, "the root is no member of the group");
  return done_now();
}

CommRequest SingleProcess::all_gather(CommGroup /*group*/, std::span<const std::byte> part,
                                      std::span<std::byte> whole) {
  return copied(part, whole);
}

CommRequest SingleProcess::reduce_scatter(CommGroup /*group*/, CommBuffer whole, std::span<std::byte> part,
                                          ReduceOp op) {
  check_reduction(whole, op);
  return copied(whole.bytes, part);
}

CommRequest SingleProcess::broadcast(CommGroup /*group*/, std::span<std::byte> /*bytes*/, std::int64_t root) {
  check(root == 0, "the root is no member of the group");
  return done_now();
}

CommRequest SingleProcess::all_to_all(CommGroup /*group*/, std::span<const std::byte> from,
                                      std::span<std::byte> to) {
  return copied(from, to);
}

CommRequest SingleProcess::send(CommGroup /*group*/, std::int64_t /*peer*/, std::int64_t /*tag*/,
                                std::span<const std::byte> /*bytes*/) {
  check(false, "a job of one rank has nobody to send to");
  unreachable();
}

CommRequest SingleProcess::receive(CommGroup /*group*/, std::int64_t /*peer*/, std::int64_t /*tag*/,
                                   std::span<std::byte> /*bytes*/) {
  check(false, "a job of one rank has nobody to receive from");
  unreachable();
}

std::optional<Nanoseconds> SingleProcess::test(CommRequest request) {
  return wait(request);
}

Nanoseconds SingleProcess::wait(CommRequest request) {
  return Nanoseconds{static_cast<std::int64_t>(request)};
}

void SingleProcess::barrier(CommGroup /*group*/) {}

}  // namespace nadi
