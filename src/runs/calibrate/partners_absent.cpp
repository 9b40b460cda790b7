#include "nadi/calibrate/partners_absent.h"

#include <cstring>

#include "nadi/base/error.h"
#include "nadi/comm/steady_time.h"

namespace nadi::inline runs {
namespace {

// A request is the time at which it was done.
CommRequest done_at_once() {
  return CommRequest{static_cast<std::uint64_t>(steady_time().count())};
}

// Parts of a whole may be in place already.
void move_bytes(std::span<const std::byte> from, std::span<std::byte> to) {
  if (!from.empty() && from.data() != to.data()) std::memmove(to.data(), from.data(), from.size());
}

}  // namespace

CommGroup PartnersAbsent::add_group(std::span<const Rank> /*members*/) {
  return CommGroup{groups_++};
}

CommRequest PartnersAbsent::all_reduce(CommLine /*line*/, CommBuffer /*buffer*/, ReduceOp /*op*/) {
  return done_at_once();
}

CommRequest PartnersAbsent::reduce(CommLine /*line*/, CommBuffer /*buffer*/, ReduceOp /*op*/,
                                   std::int64_t /*root*/) {
  return done_at_once();
}

CommRequest PartnersAbsent::all_gather(CommLine /*line*/, std::span<const std::byte> part,
                                       std::span<std::byte> whole) {
  for (std::size_t at = 0; !part.empty() && at + part.size() <= whole.size(); at += part.size())
    move_bytes(part, whole.subspan(at, part.size()));
  return done_at_once();
}

CommRequest PartnersAbsent::reduce_scatter(CommLine /*line*/, CommBuffer whole, std::span<std::byte> part,
                                           ReduceOp /*op*/) {
  check(part.size() <= whole.bytes.size(), "a part is not larger than the whole");
  move_bytes(whole.bytes.first(part.size()), part);
  return done_at_once();
}

CommRequest PartnersAbsent::broadcast(CommLine /*line*/, std::span<std::byte> /*bytes*/,
                                      std::int64_t /*root*/) {
  return done_at_once();
}

CommRequest PartnersAbsent::all_to_all(CommLine /*line*/, std::span<const std::byte> from,
                                       std::span<std::byte> to) {
  move_bytes(from, to);
  return done_at_once();
}

CommRequest PartnersAbsent::send(CommLine /*line*/, std::int64_t /*peer*/, std::int64_t /*tag*/,
                                 std::span<const std::byte> /*bytes*/) {
  return done_at_once();
}

CommRequest PartnersAbsent::receive(CommLine /*line*/, std::int64_t /*peer*/, std::int64_t /*tag*/,
                                    std::span<std::byte> /*bytes*/) {
  return done_at_once();
}

void PartnersAbsent::stream_wait(StreamId /*stream*/, CommRequest /*request*/) {}

std::optional<Nanoseconds> PartnersAbsent::test(CommRequest request) {
  return wait(request);
}

Nanoseconds PartnersAbsent::wait(CommRequest request) {
  return Nanoseconds{static_cast<std::int64_t>(request)};
}

void PartnersAbsent::barrier(CommGroup /*group*/) {}

}  // namespace nadi::inline runs
